using System.Buffers;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Security.Authentication;

namespace Fetchbench;

/// <summary>One fetch: its deadline, how far it has come, and the name of what ended it.</summary>
internal sealed class Fetch : IDisposable
{
    private static readonly HttpRequestOptionsKey<Fetch> Key = new("fetch");

    private readonly HttpClient client;
    private readonly string userAgent;
    private readonly CancellationTokenSource deadline;
    private volatile Phase phase = Phase.Headers;
    private volatile Socket? socket;

    public Fetch(HttpClient client, string userAgent, TimeSpan timeout)
    {
        this.client = client;
        this.userAgent = userAgent;
        deadline = new CancellationTokenSource(timeout);
    }

    private enum Phase { Dns, Connect, Headers, Body }

    public long BodyBytes { get; private set; }

    /// <summary>The status or failure. The deadline covers all: names, connecting, redirects and the body.</summary>
    public async Task<string> Run(string url)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out Uri? uri) || !IsHttp(uri)) return "invalid_url: no http or https URL";
        try
        {
            using HttpRequestMessage request = Request(uri);
            using HttpResponseMessage response =
                await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, deadline.Token);
            phase = Phase.Body;
            await Drain(response);
            return Code(response);
        }
        catch (Exception error)
        {
            return $"{Outcome(error)}: {Text(error)}";
        }
    }

    /// <summary>
    /// How the handler connects. It does so for the pool, not for the request, and would go on for some seconds after
    /// the request is cancelled: here it ends with the fetch. It also tells how far the fetch has come.
    /// </summary>
    public static async ValueTask<Stream> Connect(SocketsHttpConnectionContext context, CancellationToken cancelled)
    {
        if (!context.InitialRequestMessage.Options.TryGetValue(Key, out Fetch? fetch))
        {
            throw new InvalidOperationException("a request without its fetch");
        }
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancelled, fetch.deadline.Token);
        fetch.phase = Phase.Dns;
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(context.DnsEndPoint.Host, either.Token);
        fetch.phase = Phase.Connect;
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(addresses, context.DnsEndPoint.Port, either.Token);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
        fetch.phase = Phase.Headers;
        fetch.socket = socket; // until its TLS handshake is done nobody else would close it
        return new NetworkStream(socket, ownsSocket: true);
    }

    public void Dispose()
    {
        socket?.Dispose();
        deadline.Dispose();
    }

    private static bool IsHttp(Uri uri) => uri.Scheme == Uri.UriSchemeHttp || uri.Scheme == Uri.UriSchemeHttps;

    private HttpRequestMessage Request(Uri uri)
    {
        var request = new HttpRequestMessage(HttpMethod.Get, uri)
        {
            Version = HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.TryAddWithoutValidation("User-Agent", userAgent);
        request.Headers.TryAddWithoutValidation("Accept", "*/*");
        request.Headers.TryAddWithoutValidation("Accept-Encoding", "identity");
        request.Options.Set(Key, this);
        return request;
    }

    private async Task Drain(HttpResponseMessage response)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(64 * 1024);
        try
        {
            await using Stream body = await response.Content.ReadAsStreamAsync(deadline.Token);
            int count;
            while ((count = await body.ReadAsync(buffer, deadline.Token)) > 0) BodyBytes += count;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    /// <summary>A redirect that it does not follow the handler hands out as if it were the answer.</summary>
    private static string Code(HttpResponseMessage response)
    {
        int status = (int)response.StatusCode;
        string location = response.Headers.NonValidated.TryGetValues("Location", out HeaderStringValues values)
            ? values.ToString() : "";
        if (status is not (301 or 302 or 303 or 307 or 308) || location.Length == 0) return status.ToString("D3");

        Uri from = response.RequestMessage!.RequestUri!;
        if (!Uri.TryCreate(from, location, out Uri? to) || !IsHttp(to)) return $"redirect_invalid: {location}";
        // From https to http the handler does not go, whatever it is told: then the redirect is what it found.
        return from.Scheme == Uri.UriSchemeHttps && to.Scheme == Uri.UriSchemeHttp
            ? status.ToString("D3") : $"redirect_limit: {status}";
    }

    private string Outcome(Exception error)
    {
        if (deadline.IsCancellationRequested)
        {
            return phase switch
            {
                Phase.Dns => "dns_timeout",
                Phase.Connect => "connect_timeout",
                Phase.Body => "timeout_in_body",
                _ => "timeout_before_headers",
            };
        }
        for (Exception? cause = error; cause is not null; cause = cause.InnerException)
        {
            if (NameOf(cause) is { } name) return name;
        }
        return phase == Phase.Body ? "body_truncated" : "client_error";
    }

    /// <summary>Null: what caused it has to tell.</summary>
    private string? NameOf(Exception error) => error switch
    {
        SocketException socketError => NameOf(socketError.SocketErrorCode),
        AuthenticationException => error.Message.Contains("remote certificate", StringComparison.OrdinalIgnoreCase)
            ? "tls_certificate" : "tls_handshake",
        HttpRequestException { HttpRequestError: var kind } => NameOf(kind),
        HttpIOException { HttpRequestError: var kind } => NameOf(kind),
        _ => null,
    };

    private string? NameOf(SocketError error) => error switch
    {
        SocketError.HostNotFound or SocketError.NoData => "dns_not_found",
        SocketError.TryAgain or SocketError.NoRecovery => "dns_failure",
        SocketError.ConnectionRefused => "connect_refused",
        SocketError.HostUnreachable or SocketError.NetworkUnreachable => "connect_unreachable",
        SocketError.TimedOut => "connect_timeout",
        SocketError.ConnectionReset or SocketError.ConnectionAborted or SocketError.Shutdown =>
            phase == Phase.Body ? "body_truncated" : "connection_reset",
        _ => null,
    };

    private string? NameOf(HttpRequestError error) => error switch
    {
        HttpRequestError.ResponseEnded => phase == Phase.Body ? "body_truncated" : "connection_reset",
        HttpRequestError.InvalidResponse => "response_malformed",
        HttpRequestError.ConfigurationLimitExceeded => "header_too_large",
        _ => null,
    };

    private static string Text(Exception error)
    {
        Exception cause = error;
        while (cause.InnerException is { } inner) cause = inner;
        return $"{cause.GetType().Name}: {cause.Message}";
    }
}
