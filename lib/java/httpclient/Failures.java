import java.io.EOFException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import javax.net.ssl.SSLException;

/** The name of what ended a fetch. */
final class Failures {
    private Failures() {}

    static String classify(Throwable error, Main.Fetch fetch) {
        var causes = new ArrayList<Throwable>();
        for (var cause = error; cause != null; cause = cause.getCause()) {
            if (!(cause instanceof CompletionException)) causes.add(cause);
        }
        var text = new StringBuilder();
        for (var cause : causes) {
            text.append(' ').append(cause.getClass().getSimpleName());
            if (cause.getMessage() != null) text.append(": ").append(cause.getMessage());
        }
        return outcome(causes, fetch) + ":" + text;
    }

    private static String outcome(List<Throwable> causes, Main.Fetch fetch) {
        if (fetch.late) return fetch.headers ? "timeout_in_body" : "timeout_before_headers";
        if (fetch.headers) return body(causes);
        // A failure is told by what is at its bottom where that says more than its top.
        if (has(causes, UnresolvedAddressException.class)) return "dns_not_found";
        if (has(causes, CertificateException.class)) return "tls_certificate";
        if (has(causes, SSLException.class)) return "tls_handshake";
        if (has(causes, NoRouteToHostException.class)) return "connect_unreachable";
        if (has(causes, ConnectException.class)) return connecting(causes);
        if (has(causes, ProtocolException.class)) return protocol(causes);
        if (has(causes, EOFException.class) || has(causes, SocketException.class)) return "connection_reset";
        // The URL itself was found good before: what is refused is a Location.
        if (has(causes, IllegalArgumentException.class) || has(causes, UncheckedIOException.class)) {
            return "redirect_invalid";
        }
        // "unexpected content length header with 204 response" is a plain IOException
        return causes.get(0).getClass() == java.io.IOException.class ? "response_malformed" : "client_error";
    }

    private static String body(List<Throwable> causes) {
        return has(causes, EOFException.class) || has(causes, SocketException.class) || has(causes, SSLException.class)
                ? "body_truncated" : "response_malformed";
    }

    private static String connecting(List<Throwable> causes) {
        var last = causes.get(causes.size() - 1);
        if (last instanceof ClosedChannelException) return "connect_refused"; // has no words of its own
        String text = String.valueOf(last.getMessage());
        if (text.contains("reset")) return "connection_reset";
        return text.contains("unreachable") ? "connect_unreachable" : "connect_refused";
    }

    private static String protocol(List<Throwable> causes) {
        String text = String.valueOf(causes.get(causes.size() - 1).getMessage());
        return text.contains("size too big") ? "header_too_large" : "response_malformed";
    }

    private static boolean has(List<Throwable> causes, Class<?> type) {
        return causes.stream().anyMatch(type::isInstance);
    }
}
