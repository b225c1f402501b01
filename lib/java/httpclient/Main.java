import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Security;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Fetches the URLs on standard input with java.net.http; one line of result each on standard output. */
public final class Main {
    private static final int MAX_REDIRECTS = 10;

    // Wall-clock times are an anchor plus a steady clock, so that no adjustment shows in them.
    private static final Instant WALL = Instant.now();
    private static final long STEADY = System.nanoTime();
    private static final DateTimeFormatter UTC =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

    private final int concurrency = Integer.parseInt(System.getenv().getOrDefault("CONCURRENCY", "10"));
    private final Duration timeout = Duration.ofNanos(
            Math.round(Double.parseDouble(System.getenv().getOrDefault("REQUEST_TIMEOUT", "5")) * 1e9));
    private final String userAgent = System.getenv().getOrDefault("USER_AGENT", "fetchbench");
    private final Semaphore slots = new Semaphore(concurrency);
    private final ScheduledExecutorService deadlines = Executors.newSingleThreadScheduledExecutor(Main::daemon);
    private final HttpClient client;

    private Main() throws IOException, GeneralSecurityException {
        client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.ALWAYS)
                .proxy(HttpClient.Builder.NO_PROXY)
                .sslContext(trust(System.getenv("CA_FILE")))
                // Names are looked up in these threads: a pool of few would let slow names hold up all others.
                .executor(Executors.newCachedThreadPool(Main::daemon))
                .build();
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("--describe")) {
            System.out.println(describe());
            return;
        }
        // One more than the redirects: the first request counts, too.
        System.setProperty("jdk.httpclient.redirects.retrylimit", String.valueOf(MAX_REDIRECTS + 1));
        System.setProperty("jdk.httpclient.keepalive.timeout", "0"); // hosts are met once
        Security.setProperty("networkaddress.cache.ttl", "0");
        Security.setProperty("networkaddress.cache.negative.ttl", "0");
        new Main().run();
    }

    /** Takes a slot, then a URL: what is not yet wanted stays in the pipe. */
    private void run() throws IOException, InterruptedException {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (true) {
            slots.acquire();
            String url = lines.readLine();
            if (url == null) break;
            if (url.isEmpty()) {
                slots.release();
            } else {
                start(url);
            }
        }
        slots.acquire(concurrency - 1); // until all is done
    }

    private void start(String url) {
        var fetch = new Fetch(System.nanoTime());
        HttpRequest request;
        try {
            request = HttpRequest.newBuilder(URI.create(url))
                    .header("User-Agent", userAgent)
                    .header("Accept", "*/*")
                    .header("Accept-Encoding", "identity")
                    .build();
        } catch (IllegalArgumentException e) {
            finish(url, fetch, "invalid_url: " + e.getMessage());
            return;
        }
        CompletableFuture<HttpResponse<Void>> answer = client.sendAsync(request, fetch::readBody);
        // cancel(true) ends the exchange itself and closes its connection (JDK 16); completing the future,
        // as orTimeout() does, would leave both to themselves.
        var deadline = deadlines.schedule(() -> {
            fetch.late = true;
            answer.cancel(true);
        }, timeout.toNanos() - (System.nanoTime() - fetch.start), TimeUnit.NANOSECONDS);
        answer.whenComplete((response, error) -> {
            deadline.cancel(false);
            finish(url, fetch, error == null ? code(response) : Failures.classify(error, fetch));
        });
    }

    /** When its limit is reached the client hands out the last redirect as if it were the answer. */
    private static String code(HttpResponse<?> response) {
        int redirects = 0;
        for (var r = response.previousResponse(); r.isPresent(); r = r.get().previousResponse()) redirects++;
        return redirects == MAX_REDIRECTS && response.statusCode() / 100 == 3
                && response.headers().firstValue("Location").isPresent()
                ? "redirect_limit: " + response.statusCode()
                : String.valueOf(response.statusCode());
    }

    private void finish(String url, Fetch fetch, String code) {
        long nanos = System.nanoTime() - fetch.start;
        byte[] line = "%s,%s,%s,%.3f,%d%n".formatted(url, oneField(code), utc(fetch.start), nanos / 1e6, fetch.bodyBytes)
                .getBytes(StandardCharsets.UTF_8);
        synchronized (System.out) {
            System.out.write(line, 0, line.length);
            System.out.flush();
        }
        slots.release();
    }

    private static String oneField(String text) {
        String clean = text.replaceAll("[\\s,\\p{Cntrl}]+", " ");
        return clean.substring(0, Math.min(clean.length(), 300));
    }

    private static String utc(long steady) {
        return UTC.format(WALL.plusNanos(steady - STEADY));
    }

    private static Thread daemon(Runnable work) {
        var thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    /** The runtime's own authorities, or only those of the file. */
    private static SSLContext trust(String caFile) throws IOException, GeneralSecurityException {
        KeyStore store = null;
        if (caFile != null) {
            store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            try (var file = new FileInputStream(caFile)) {
                int i = 0;
                for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                    store.setCertificateEntry("ca" + i++, certificate);
                }
            }
        }
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        context.getClientSessionContext().setSessionCacheSize(1); // hosts are met once
        return context;
    }

    private static String describe() {
        var tls = Security.getProvider("SunJSSE");
        return """
                {"name": "java/httpclient", "runtime": "%s %s", "libraries": ["java.net.http"], \
                "tls_library": "%s %s"}""".formatted(System.getProperty("java.vm.name"), Runtime.version(), tls.getName(),
                tls.getVersionStr());
    }

    /** State of one fetch, and what reads its body: the bytes are counted and dropped. */
    static final class Fetch implements HttpResponse.BodySubscriber<Void> {
        final long start;
        volatile boolean late;
        volatile boolean headers;
        volatile long bodyBytes;
        private final CompletableFuture<Void> body = new CompletableFuture<>();

        Fetch(long start) {
            this.start = start;
        }

        HttpResponse.BodySubscriber<Void> readBody(HttpResponse.ResponseInfo info) {
            headers = true;
            return this;
        }

        @Override
        public CompletionStage<Void> getBody() {
            return body;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            for (var buffer : buffers) bodyBytes += buffer.remaining();
        }

        @Override
        public void onError(Throwable error) {
            body.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            body.complete(null);
        }
    }
}
