import java.io.FileWriter;
import java.nio.channels.FileChannel;
import java.nio.file.*;

/** Threads, garbage, files and locks in Java. */
public class Busy {
    public static void main(String[] arguments) throws Exception {
        int[] done = {0};
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                StringBuilder text = new StringBuilder();
                for (int n = 0; n < 100_000; n++) text.append(n);
                synchronized (done) { done[0] += text.length() > 0 ? 1 : 0; }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        try (FileWriter file = new FileWriter("note")) { file.write("here"); }
        Files.copy(Path.of("note"), Path.of("copy"));
        try (FileChannel channel = FileChannel.open(Path.of("copy"), StandardOpenOption.WRITE)) { channel.lock(); }
        System.gc();
        Thread.sleep(1);
        System.out.println(done[0] + " " + Files.readString(Path.of("copy")));
    }
}
