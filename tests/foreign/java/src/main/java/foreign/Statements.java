package foreign;

import com.google.cloud.spanner.Statement;
import com.google.cloud.spanner.Value;
import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.StreamSupport;

/** The texts and names of one dialect, which all languages share. */
final class Statements {
  private final JsonObject texts;

  private Statements(JsonObject texts) {
    this.texts = texts;
  }

  static Statements read(Path path, String dialect) throws IOException {
    JsonObject texts = new Gson().fromJson(Files.readString(path), JsonObject.class).getAsJsonObject(dialect);
    if (texts == null) {
      throw new IllegalArgumentException("unknown dialect " + dialect);
    }
    return new Statements(texts);
  }

  String text(String name) {
    return texts.get(name).getAsString();
  }

  List<String> list(String name) {
    JsonArray list = texts.getAsJsonArray(name);
    return StreamSupport.stream(list.spliterator(), false).map(JsonElement::getAsString).toList();
  }

  /** Gives a statement its parameters: @p1 or $1, and so on. */
  Statement bind(String name, Value... values) {
    Statement.Builder statement = Statement.newBuilder(text(name));
    for (int index = 0; index < values.length; index++) {
      statement.bind("p" + (index + 1)).to(values[index]);
    }
    return statement.build();
  }
}
