// Fetches the URLs on standard input with HttpClient; one line of result each on standard output.

using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Fetchbench;

if (args is ["--describe"])
{
    Console.WriteLine(Describe());
    return;
}

int concurrency = int.Parse(Setting("CONCURRENCY", "10"), CultureInfo.InvariantCulture);
TimeSpan timeout = TimeSpan.FromSeconds(double.Parse(Setting("REQUEST_TIMEOUT", "5"), CultureInfo.InvariantCulture));
string userAgent = Setting("USER_AGENT", "fetchbench");

// Wall-clock times are an anchor plus a steady clock, so that no adjustment shows in them.
DateTime wall = DateTime.UtcNow;
long steady = Stopwatch.GetTimestamp();

// getaddrinfo takes a thread for each name; the pool would start with one a CPU and grow by one or two a second,
// so a few slow names would hold up all others.
ThreadPool.GetMinThreads(out int workers, out int completions);
ThreadPool.SetMinThreads(Math.Max(workers, 2 * concurrency), completions);

using var client = new HttpClient(Handler()) { Timeout = Timeout.InfiniteTimeSpan }; // each fetch has its deadline
using Stream output = Console.OpenStandardOutput();

await Parallel.ForEachAsync(
    Lines(),
    new ParallelOptions { MaxDegreeOfParallelism = concurrency },
    async (url, _) =>
    {
        long start = Stopwatch.GetTimestamp();
        using var fetch = new Fetch(client, userAgent, timeout);
        string code = await fetch.Run(url);
        double duration = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        Print(FormattableString.Invariant($"{url},{OneField(code)},{Utc(start)},{duration:F3},{fetch.BodyBytes}\n"));
    });

static string Setting(string name, string otherwise) => Environment.GetEnvironmentVariable(name) ?? otherwise;

string Utc(long moment) =>
    (wall + Stopwatch.GetElapsedTime(steady, moment)).ToString("yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'", CultureInfo.InvariantCulture);

// Lines as they are asked for; a pipe that nobody asks is not read, and so stops its writer.
static async IAsyncEnumerable<string> Lines()
{
    using var reader = new StreamReader(Console.OpenStandardInput(), Encoding.UTF8);
    while (await reader.ReadLineAsync() is { } line)
    {
        if (line.Length > 0) yield return line;
    }
}

void Print(string line)
{
    byte[] bytes = Encoding.UTF8.GetBytes(line);
    lock (output)
    {
        output.Write(bytes);
        output.Flush();
    }
}

static string OneField(string text)
{
    string clean = Regex.Replace(text, @"[\s,\p{Cc}]+", " ");
    return clean[..Math.Min(clean.Length, 300)];
}

static SocketsHttpHandler Handler()
{
    var handler = new SocketsHttpHandler
    {
        AllowAutoRedirect = true,
        MaxAutomaticRedirections = 10,
        AutomaticDecompression = DecompressionMethods.None,
        UseCookies = false,
        UseProxy = false,
        ActivityHeadersPropagator = null, // no traceparent header
        PooledConnectionLifetime = TimeSpan.Zero, // hosts are met once: an idle connection is only memory
        ConnectCallback = Fetch.Connect,
    };
    if (Environment.GetEnvironmentVariable("CA_FILE") is { } file)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
        };
        policy.CustomTrustStore.ImportFromPemFile(file);
        handler.SslOptions = new SslClientAuthenticationOptions { CertificateChainPolicy = policy };
    }
    return handler;
}

static string Describe()
{
    long openSsl = OperatingSystem.IsLinux() ? SafeEvpPKeyHandle.OpenSslVersion : 0; // 0xMNN00PP0
    return JsonSerializer.Serialize(new Dictionary<string, object>
    {
        ["name"] = "dotnet/httpclient",
        ["runtime"] = RuntimeInformation.FrameworkDescription,
        ["libraries"] = new[] { "HttpClient" },
        ["tls_library"] = $"OpenSSL {openSsl >> 28 & 0xf}.{openSsl >> 20 & 0xff}.{openSsl >> 4 & 0xff}",
        ["libc"] = RuntimeInformation.RuntimeIdentifier.Contains("musl", StringComparison.Ordinal) ? "musl" : "glibc",
    });
}
