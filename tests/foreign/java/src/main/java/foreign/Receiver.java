package foreign;

import com.google.cloud.spanner.ResultSet;
import com.google.cloud.spanner.Type.StructField;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** An open stream of messages. */
record Receiver(Database db, ResultSet rows, List<String> key) implements AutoCloseable {

  /** Waits for the next message. */
  Message next() {
    if (!rows.next()) {
      throw new IllegalStateException("the stream ended");
    }
    Statements names = db.statements();
    return new Message(
        key.stream().map(this::column).toList(),
        column(names.text("payload")),
        rows.getTimestamp(names.text("deliver_time")).toString(),
        rows.getTimestamp(names.text("expires")).toString(),
        rows.getString(names.text("token")),
        rows.getBoolean(names.text("last")));
  }

  /** Waits for some messages and closes the stream. */
  List<Message> take(int count) {
    try (this) {
      List<Message> messages = new ArrayList<>();
      while (messages.size() < count) {
        messages.add(next());
      }
      return messages;
    }
  }

  /** Names the columns of the stream and their types, after a message has come. */
  List<List<String>> columns() {
    return rows.getType().getStructFields().stream().map(Receiver::column).toList();
  }

  private static List<String> column(StructField field) {
    return List.of(field.getName(), field.getType().getCode().name());
  }

  /** Decodes a key or a payload with the client's own types. */
  private Object column(String name) {
    return switch (rows.getColumnType(name).getCode()) {
      case INT64 -> rows.getLong(name);
      case BYTES -> HexFormat.of().formatHex(rows.getBytes(name).toByteArray());
      case JSON, PG_JSONB -> db.decodeJson(rows.getValue(name));
      default -> rows.getString(name);
    };
  }

  @Override
  public void close() {
    rows.close();
  }
}
