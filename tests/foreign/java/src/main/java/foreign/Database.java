package foreign;

import com.google.cloud.spanner.DatabaseClient;
import com.google.cloud.spanner.ResultSet;
import com.google.cloud.spanner.SpannerException;
import com.google.cloud.spanner.Statement;
import com.google.cloud.spanner.Value;
import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** A fresh database with the table and the queues of the scenarios. */
record Database(
    Statements statements, boolean postgresql, DatabaseClient client, Supplier<List<String>> ddl) {

  /** Something that may fail with a Spanner error. */
  interface Work {
    void run();
  }

  /** Runs DML statements in one read-write transaction and returns their row counts. */
  List<Long> write(Statement... dml) {
    return client
        .readWriteTransaction()
        .run(
            transaction -> {
              List<Long> counts = new ArrayList<>();
              for (Statement statement : dml) {
                counts.add(transaction.executeUpdate(statement));
              }
              return counts;
            });
  }

  Statement insertOrder() {
    return statements.bind("insert_order", Value.int64(1), Value.string("new"));
  }

  Statement setState(String state) {
    return statements.bind("set_state", Value.int64(1), Value.string(state));
  }

  Statement sendNote(long id) {
    return statements.bind("send_note", Value.int64(id), Value.string(noteText(id)));
  }

  Statement acknowledgeNote(long id) {
    return statements.bind("acknowledge_note", Value.int64(id));
  }

  static String noteText(long id) {
    return "note " + id;
  }

  Receiver receiveNotes() {
    return receive("receive_notes", "id_key");
  }

  Receiver receive(String name, String key) {
    ResultSet rows = client.singleUse().executeQuery(statements.bind(name));
    return new Receiver(this, rows, statements.list(key));
  }

  String state() {
    return queryOne(statements.bind("select_state", Value.int64(1))).getString();
  }

  long changes() {
    return queryOne(statements.bind("select_changes", Value.int64(1))).getInt64();
  }

  long countNotes() {
    return queryOne(statements.bind("count_notes")).getInt64();
  }

  /** Reads the only column of the only row. */
  Value queryOne(Statement statement) {
    try (ResultSet rows = client.singleUse().executeQuery(statement)) {
      rows.next();
      return rows.getValue(0);
    }
  }

  /** Wraps a value in the client's JSON type of the dialect. */
  Value json(Object value) {
    String text = new Gson().toJson(value);
    return postgresql ? Value.pgJsonb(text) : Value.json(text);
  }

  JsonElement decodeJson(Value value) {
    return JsonParser.parseString(postgresql ? value.getPgJsonb() : value.getJson());
  }

  /** Returns the number of the status code, which all languages share; 0 when the work succeeds. */
  static int codeOf(Work work) {
    try {
      work.run();
    } catch (SpannerException error) {
      return error.getErrorCode().getGrpcStatusCode().value();
    }
    return 0;
  }
}
