// What every workload answers: a path and a query in, an answer out. It knows neither of the servers that ask it.
//
// Waits and files are awaited and hold no thread; what costs CPU runs on the thread the handler has.
using System;
using System.Collections.Specialized;
using System.IO;
using System.Text;
using System.Threading.Tasks;

public sealed class Answer
{
    public readonly int Status;
    public readonly string ContentType;
    public readonly byte[] Body;

    Answer(int status, string contentType, byte[] body)
    {
        Status = status;
        ContentType = contentType;
        Body = body;
    }

    public static Answer Text(byte[] body) => new Answer(200, "text/plain", body);

    public static Answer Text(string body, int status = 200) =>
        new Answer(status, "text/plain", Encoding.ASCII.GetBytes(body));

    public static Answer Json(object content) => new Answer(200, "application/json", Serialise.Json(content));
}

public static class Workloads
{
    static readonly string HashFile = Environment.GetEnvironmentVariable("HASH_FILE");

    public static async Task<Answer> AnswerTo(string path, NameValueCollection query)
    {
        try
        {
            switch (path)
            {
                case "/hello": return await Hello(query).ConfigureAwait(false);
                case "/todos": return Answer.Json(Todo.All);
                case "/hash": return await Hash(query).ConfigureAwait(false);
                case "/file": return await NewFile(query).ConfigureAwait(false);
                case "/primes": return Answer.Json(Compute.Primes(Parameters.Number(query, "below", 1000000, 0, 10000000)));
                case "/mix": return await Mix(query).ConfigureAwait(false);
                default: return Answer.Text("no such path", 404);
            }
        }
        catch (BadParameterException bad)
        {
            return Answer.Text(bad.Message, 400);
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(path + ": " + error.Message);
            return Answer.Text("it went wrong here", 500);
        }
    }

    static async Task<Answer> Hello(NameValueCollection query)
    {
        await Wait(Parameters.Number(query, "delay_ms", 0, 0, 60000)).ConfigureAwait(false);
        return Answer.Text("Hello, World!");
    }

    static async Task<Answer> Hash(NameValueCollection query)
    {
        var rounds = Parameters.Number(query, "n", 1, 1, 100000);
        var content = await Files.Read(HashFile).ConfigureAwait(false);
        return Answer.Text(Compute.Digest(content, rounds));
    }

    static async Task<Answer> NewFile(NameValueCollection query)
    {
        var fill = Parameters.OneOf(query, "fill", "each", "bulk");
        var content = fill == "each" ? Compute.TextFilledEach() : Compute.TextFilledInBulk();
        return Answer.Text(await Files.ThroughNewFile(content).ConfigureAwait(false));
    }

    static async Task<Answer> Mix(NameValueCollection query)
    {
        var waitMs = Parameters.Number(query, "wait_ms", 0, 0, 60000);
        var spinUs = Parameters.Number(query, "spin_us", 0, 0, 10000000);
        var length = Parameters.Number(query, "bytes", 13, 0, 10000000);
        await Wait(waitMs).ConfigureAwait(false);
        Spin.For(spinUs);
        return Answer.Text(Compute.Letters(length));
    }

    // Without a wait there is nothing to start a timer for.
    static Task Wait(int milliseconds) => milliseconds == 0 ? Task.CompletedTask : Task.Delay(milliseconds);
}
