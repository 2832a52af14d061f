package foreign;

import java.util.Map;

/** Does one thing with a fresh database and tells what it saw, by name. */
interface Scenario {
  Map<String, Object> run(Database db) throws Exception;
}
