// Plays Connect Four over HTTP: java Bot.java NAME
import java.net.URI;
import java.net.http.*;
import java.util.regex.*;

public class Bot {
    static final String PLAY = System.getenv().getOrDefault("NOUGHTS_WEB", "http://127.0.0.1:7480") + "/api/v1/play";
    static String find(String text, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }
    public static void main(String[] names) throws InterruptedException {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        for (String session = "", moves = ""; ; ) {
            String body = session.isEmpty() ? "{\"bot\":\"" + names[0] + "\",\"variants\":[\"connect4\"]}" : "{\"moves\":[" + moves + "]}";
            HttpRequest request = HttpRequest.newBuilder(URI.create(PLAY + (session.isEmpty() ? "" : "/" + session + "/moves?wait=25")))
                .header("Authorization", "Bearer " + System.getenv("NOUGHTS_TOKEN")).POST(HttpRequest.BodyPublishers.ofString(body)).build();
            try {
                HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() == 404) { session = moves = ""; continue; } // the session is over: open one again
                if (answer.statusCode() == 429 || answer.statusCode() == 503) { Thread.sleep(1000); continue; }
                if (answer.statusCode() > 299) { System.err.println(answer.body()); return; }
                if (session.isEmpty()) session = find(answer.body(), "\"session\":\"([^\"]+)");
                String turn = find(answer.body(), "\"turns\":\\[\\{\"turn\":(\\d+)");
                String[] legal = find(answer.body(), "\"legal\":\\[([\\d,]+)").split(",");
                moves = turn.isEmpty() ? "" : "{\"turn\":" + turn + ",\"move\":" + legal[legal.length / 2] + "}";
            } catch (java.io.IOException lost) { Thread.sleep(1000); } // the answer was lost: send the same again
        }
    }
}
