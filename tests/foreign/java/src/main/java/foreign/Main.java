package foreign;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Drives Spanner queues with the official Java client.
 *
 * <pre>SPANNER_EMULATOR_HOST=localhost:9010 java foreign.Main statements.json googlesql all</pre>
 *
 * It runs one scenario, or all of them, each in a database of its own, and prints one JSON line for each:
 * {"scenario": NAME, "saw": {...}} or {"scenario": NAME, "error": TEXT}. In between it may ask its parent for
 * something that no client can do, {"ask": "advance", "seconds": 300}, and waits for a line in answer.
 */
final class Main {
  private static final int SCENARIO_SECONDS = 30;
  private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final BufferedReader ANSWERS =
      new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

  private Main() {}

  /** Has the parent do something and waits until it is done. */
  static void ask(Map<String, Object> request) throws IOException {
    print(request);
    ANSWERS.readLine();
  }

  private static void print(Map<String, Object> line) {
    OUT.println(GSON.toJson(line));
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 3) {
      System.err.println("usage: foreign STATEMENTS googlesql|postgresql SCENARIO|all");
      System.exit(2);
    }
    Statements statements = Statements.read(Path.of(arguments[0]), arguments[1]);
    String wanted = arguments[2];
    if (!wanted.equals("all") && !Scenarios.ALL.containsKey(wanted)) {
      System.err.println("unknown scenario " + wanted);
      System.exit(2);
    }
    try (Client client = new Client(statements, arguments[1].equals("postgresql"))) {
      for (Map.Entry<String, Scenario> scenario : Scenarios.ALL.entrySet()) {
        if (wanted.equals("all") || wanted.equals(scenario.getKey())) {
          perform(client, scenario.getKey(), scenario.getValue());
        }
      }
    }
  }

  private static void perform(Client client, String name, Scenario scenario) {
    ExecutorService thread = Executors.newSingleThreadExecutor(Main::daemon);
    try {
      Map<String, Object> saw =
          thread.submit(() -> scenario.run(client.freshDatabase())).get(SCENARIO_SECONDS, TimeUnit.SECONDS);
      print(Map.of("scenario", name, "saw", saw));
    } catch (ExecutionException error) {
      print(Map.of("scenario", name, "error", String.valueOf(error.getCause())));
    } catch (Exception error) {
      print(Map.of("scenario", name, "error", String.valueOf(error)));
    } finally {
      thread.shutdownNow();
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "scenario");
    thread.setDaemon(true);
    return thread;
  }
}
