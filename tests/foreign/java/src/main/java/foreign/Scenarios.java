package foreign;

import static foreign.Database.codeOf;
import static foreign.Database.noteText;

import com.google.cloud.ByteArray;
import com.google.cloud.Timestamp;
import com.google.cloud.spanner.Key;
import com.google.cloud.spanner.Mutation;
import com.google.cloud.spanner.ResultSet;
import com.google.cloud.spanner.Statement;
import com.google.cloud.spanner.Struct;
import com.google.cloud.spanner.Value;
import io.grpc.Context;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** What the client does with queues, by name and in order. */
final class Scenarios {
  static final Map<String, Scenario> ALL = new LinkedHashMap<>();

  static {
    ALL.put("schema", Scenarios::schema);
    ALL.put("send_dml", Scenarios::sendDml);
    ALL.put("send_mutation", Scenarios::sendMutation);
    ALL.put("receive", Scenarios::receive);
    ALL.put("arrive", Scenarios::arrive);
    ALL.put("renew", Scenarios::renew);
    ALL.put("acknowledge_dml", Scenarios::acknowledgeDml);
    ALL.put("acknowledge_mutation", Scenarios::acknowledgeMutation);
    ALL.put("concurrent", Scenarios::concurrent);
    ALL.put("large", Scenarios::large);
    ALL.put("redeliver", Scenarios::redeliver);
    ALL.put("resume", Scenarios::resume);
    ALL.put("aborted", Scenarios::aborted);
    ALL.put("delayed", Scenarios::delayed);
    ALL.put("cancel", Scenarios::cancel);
  }

  private static final Map<String, Object> MAIL =
      Map.of("to", "ada@example.com", "copies", 2, "tags", List.of("a", "ü"));
  private static final Duration DELAY = Duration.ofMinutes(5);
  private static final Duration LEASE = Duration.ofSeconds(10);
  private static final int TRANSACTIONS = 20;
  private static final int LARGE_BYTES = 3 << 19;

  private Scenarios() {}

  /** Reads the schema back. */
  private static Map<String, Object> schema(Database db) {
    return Map.of("ddl", db.ddl().get());
  }

  private static Statement sendMail(Database db) {
    return db.statements().bind("send_mail", Value.int64(1), Value.string("welcome"), db.json(MAIL));
  }

  private static Receiver receiveMails(Database db) {
    return db.receive("receive_mails", "mail_key");
  }

  /** Inserts a message together with its order, and looks at both as rows. */
  private static Map<String, Object> sendDml(Database db) {
    List<Long> counts = db.write(db.insertOrder(), sendMail(db));
    Value stored =
        db.queryOne(db.statements().bind("select_mail", Value.int64(1), Value.string("welcome")));
    return Map.of(
        "counts", counts,
        "state", db.state(),
        "stored", db.decodeJson(stored),
        "received", receiveMails(db).take(1));
  }

  private static Mutation.SendBuilder sendNote(Database db, long id) {
    return Mutation.newSendBuilder(db.statements().text("notes"))
        .setKey(Key.of(id))
        .setPayload(Value.string(noteText(id)));
  }

  /** Sends with the client's Send mutation, together with the order's row. */
  private static Map<String, Object> sendMutation(Database db) {
    List<String> columns = db.statements().list("order_columns");
    db.client()
        .write(
            List.of(
                Mutation.newInsertBuilder(db.statements().text("orders"))
                    .set(columns.get(0))
                    .to(1)
                    .set(columns.get(1))
                    .to("new")
                    .set(columns.get(2))
                    .to(0)
                    .build(),
                Mutation.newSendBuilder(db.statements().text("mails"))
                    .setKey(Key.of(1, "welcome"))
                    .setPayload(db.json(MAIL))
                    .build()));
    db.client()
        .readWriteTransaction()
        .run(
            transaction -> {
              transaction.executeUpdate(db.setState("paid"));
              transaction.buffer(sendNote(db, 1).build());
              return null;
            });
    return Map.of(
        "state", db.state(), "mails", receiveMails(db).take(1), "notes", db.receiveNotes().take(1));
  }

  /** Reads messages of all payload types, with everything that comes with them. */
  private static Map<String, Object> receive(Database db) {
    Map<String, Object> saw = new HashMap<>();
    saw.put("before", Instant.now().toString());
    byte[] blob = {0, (byte) 0xff, (byte) 0xfe, 'a'};
    db.write(
        db.insertOrder(),
        sendMail(db),
        db.statements().bind("send_blob", Value.int64(1), Value.bytes(ByteArray.copyFrom(blob))),
        db.sendNote(1),
        db.sendNote(2));
    look(saw, "mails", receiveMails(db), 1);
    look(saw, "blobs", db.receive("receive_blobs", "id_key"), 1);
    look(saw, "notes", db.receiveNotes(), 2);
    saw.put("after", Instant.now().toString());
    return saw;
  }

  private static void look(Map<String, Object> saw, String name, Receiver receiver, int count) {
    saw.put(name, receiver.take(count));
    saw.put(name + "_columns", receiver.columns());
  }

  /** Sends while a stream is open. */
  private static Map<String, Object> arrive(Database db) {
    List<Message> received = new ArrayList<>();
    try (Receiver stream = db.receiveNotes()) {
      for (long id = 1; id <= 3; id++) {
        db.write(db.sendNote(id));
        received.add(stream.next());
      }
    }
    return Map.of("ids", Message.keysOf(received));
  }

  private static List<Map<String, String>> renewNotes(Database db, List<String> tokens) {
    List<Map<String, String>> renewals = new ArrayList<>();
    Statement statement = db.statements().bind("renew_notes", Value.stringArray(tokens));
    try (ResultSet rows = db.client().singleUse().executeQuery(statement)) {
      while (rows.next()) {
        Map<String, String> renewal = new HashMap<>();
        renewal.put("old", rows.getString(0));
        renewal.put("new", rows.isNull(1) ? null : rows.getString(1));
        renewal.put("expires", rows.isNull(2) ? null : rows.getTimestamp(2).toString());
        renewals.add(renewal);
      }
    }
    return renewals;
  }

  /** Extends leases: running ones beside one that is nonsense, again, and after the acknowledgment. */
  private static Map<String, Object> renew(Database db) {
    db.write(db.sendNote(1), db.sendNote(2));
    List<Message> received = db.receiveNotes().take(2);
    List<String> tokens = List.of(received.get(0).token(), "nonsense", received.get(1).token());
    List<Map<String, String>> first = renewNotes(db, tokens);
    List<Map<String, String>> second = renewNotes(db, List.of(first.get(0).get("new")));
    db.write(db.acknowledgeNote(1));
    db.write(db.acknowledgeNote(2));
    List<Map<String, String>> late = renewNotes(db, List.of(second.get(0).get("new")));
    return Map.of("received", received, "first", first, "second", second, "late", late);
  }

  /** Deletes the message in the transaction of the work's own write, twice. */
  private static Map<String, Object> acknowledgeDml(Database db) {
    db.write(db.insertOrder(), db.sendNote(1));
    db.receiveNotes().take(1);
    List<Long> counts = db.write(db.setState("done"), db.acknowledgeNote(1));
    int second = codeOf(() -> db.write(db.setState("twice"), db.acknowledgeNote(1)));
    return Map.of("counts", counts, "second", second, "state", db.state(), "left", db.countNotes());
  }

  /** Uses the client's Ack mutation: once, twice, and once more without minding. */
  private static Map<String, Object> acknowledgeMutation(Database db) {
    db.write(db.insertOrder(), db.sendNote(1));
    db.receiveNotes().take(1);
    Map<String, Object> saw = new HashMap<>();
    for (String state : List.of("done", "twice", "ignored")) {
      List<Mutation> mutations = List.of(updateState(db, state), acknowledge(db, state.equals("ignored")));
      int code = codeOf(() -> db.client().write(mutations));
      saw.put(state, List.of(code, db.state()));
    }
    return saw;
  }

  private static Mutation updateState(Database db, String state) {
    List<String> columns = db.statements().list("order_columns");
    return Mutation.newUpdateBuilder(db.statements().text("orders"))
        .set(columns.get(0))
        .to(1)
        .set(columns.get(1))
        .to(state)
        .build();
  }

  private static Mutation acknowledge(Database db, boolean ignoreNotFound) {
    return Mutation.newAckBuilder(db.statements().text("notes"))
        .setKey(Key.of(1))
        .setIgnoreNotFound(ignoreNotFound)
        .build();
  }

  /** Has transactions that read, write and send at the same time. */
  private static Map<String, Object> concurrent(Database db) throws Exception {
    db.write(db.insertOrder());
    ExecutorService threads = Executors.newFixedThreadPool(TRANSACTIONS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (long id = 0; id < TRANSACTIONS; id++) {
        long own = id;
        running.add(threads.submit(() -> countAndSend(db, own)));
      }
      for (Future<?> one : running) {
        one.get();
      }
    } finally {
      threads.shutdownNow();
    }
    return Map.of("changes", db.changes(), "notes", db.countNotes());
  }

  private static void countAndSend(Database db, long id) {
    db.client()
        .readWriteTransaction()
        .run(
            transaction -> {
              Statement read = db.statements().bind("select_changes", Value.int64(1));
              Struct row;
              try (ResultSet rows = transaction.executeQuery(read)) {
                rows.next();
                row = rows.getCurrentRowAsStruct();
              }
              Value changes = Value.int64(row.getLong(0) + 1);
              transaction.executeUpdate(db.statements().bind("set_changes", Value.int64(1), changes));
              return transaction.executeUpdate(db.sendNote(id));
            });
  }

  /** Sends a payload that is larger than a chunk of a stream. */
  private static Map<String, Object> large(Database db) throws Exception {
    String text = "0123456789abcdeü".repeat(LARGE_BYTES / 17);
    db.write(db.statements().bind("send_note", Value.int64(1), Value.string(text)));
    String received = (String) db.receiveNotes().take(1).get(0).payload();
    return Map.of("sent", digest(text), "received", digest(received));
  }

  private static String digest(String text) throws Exception {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
  }

  /** Lets a lease run out. */
  private static Map<String, Object> redeliver(Database db) throws Exception {
    db.write(db.sendNote(1));
    List<Message> received = new ArrayList<>();
    try (Receiver stream = db.receiveNotes()) {
      received.add(stream.next());
      Main.ask(Map.of("ask", "advance", "seconds", LEASE.toSeconds()));
      received.add(stream.next());
    }
    return Map.of("received", received);
  }

  /**
   * Has the stream broken after its first message, and for good after its second, which comes only if the
   * client has resumed it.
   */
  private static Map<String, Object> resume(Database db) throws Exception {
    Main.ask(Map.of("ask", "break_stream", "sql", db.statements().text("receive_notes")));
    List<Message> received = new ArrayList<>();
    try (Receiver stream = db.receiveNotes()) {
      for (long id = 1; id <= 2; id++) {
        db.write(db.sendNote(id));
        received.add(stream.next());
      }
      return Map.of("ids", Message.keysOf(received), "code", codeOf(stream::next));
    }
  }

  /** Has the first commit aborted; the client runs the transaction again. */
  private static Map<String, Object> aborted(Database db) throws Exception {
    Main.ask(Map.of("ask", "abort_commit"));
    AtomicInteger runs = new AtomicInteger();
    db.client()
        .readWriteTransaction()
        .run(
            transaction -> {
              runs.incrementAndGet();
              return transaction.executeUpdate(db.sendNote(1));
            });
    return Map.of("runs", runs.get(), "notes", db.countNotes());
  }

  /** Sends messages for later, which come when the gateway's clock is there. */
  private static Map<String, Object> delayed(Database db) throws Exception {
    Instant due = Instant.now().plus(DELAY);
    Value dueValue = Value.timestamp(Timestamp.parseTimestamp(due.toString()));
    db.write(
        db.statements().bind("send_note_later", Value.int64(1), Value.string(noteText(1)), dueValue));
    db.client().write(List.of(sendNote(db, 2).setDeliveryTime(due).build()));
    List<Message> now = new ArrayList<>();
    try (Receiver stream = db.receiveNotes()) {
      for (long id = 3; id <= 4; id++) {
        db.write(db.sendNote(id));
        now.add(stream.next());
        db.write(db.acknowledgeNote(id));
      }
      Main.ask(Map.of("ask", "advance", "seconds", DELAY.toSeconds()));
      List<Message> later = stream.take(2);
      return Map.of(
          "due", due.toString(),
          "now", Message.keysOf(now),
          "later", Message.keysOf(later),
          "messages", later);
    }
  }

  /** Closes a stream between two messages, and cancels one that waits; neither takes the next message. */
  private static Map<String, Object> cancel(Database db) throws Exception {
    db.write(db.sendNote(1), db.sendNote(2));
    Instant started = Instant.now();
    List<Message> received = new ArrayList<>(db.receiveNotes().take(1));
    double closed = secondsSince(started);

    Context.CancellableContext waiting = Context.current().withCancellation();
    try (Receiver idle = db.receiveNotes()) {
      db.write(db.sendNote(3));
      received.add(waiting.call(idle::next));
      ExecutorService thread = Executors.newSingleThreadExecutor();
      Future<Integer> ended = thread.submit(() -> codeOf(idle::next));
      started = Instant.now();
      waiting.cancel(null);
      int outcome = ended.get();
      double canceled = secondsSince(started);
      thread.shutdown();

      started = Instant.now();
      db.write(db.sendNote(4));
      received.addAll(db.receiveNotes().take(1));
      return Map.of(
          "ids", Message.keysOf(received),
          "close_seconds", closed,
          "cancel_seconds", canceled,
          "cancel_code", outcome,
          "next_seconds", secondsSince(started));
    }
  }

  private static double secondsSince(Instant started) {
    return Duration.between(started, Instant.now()).toMillis() / 1000.0;
  }
}
