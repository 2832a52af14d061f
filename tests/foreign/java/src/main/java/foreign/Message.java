package foreign;

import com.google.gson.annotations.SerializedName;
import java.util.List;

/** A received message, as it is printed. */
record Message(
    List<Object> key,
    Object payload,
    @SerializedName("deliver_time") String deliverTime,
    String expires,
    String token,
    boolean last) {

  static List<Object> keysOf(List<Message> messages) {
    return messages.stream().map(message -> message.key().get(0)).toList();
  }
}
