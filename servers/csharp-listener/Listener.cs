// Serves the workloads by HttpListener: one loop takes requests, and each is answered on the thread pool.
using System;
using System.Net;
using System.Threading.Tasks;

static class Listener
{
    static void Main(string[] arguments)
    {
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + arguments[0] + "/");
        listener.Start();
        Serve(listener).Wait();
    }

    static async Task Serve(HttpListener listener)
    {
        while (true)
        {
            var context = await listener.GetContextAsync().ConfigureAwait(false);
            // Handed on, so that a handler that computes does not keep the loop from taking the next request.
            _ = Task.Run(() => Handle(context));
        }
    }

    static async Task Handle(HttpListenerContext context)
    {
        var response = context.Response;
        try
        {
            var answer = await Workloads.AnswerTo(context.Request.Url.AbsolutePath, context.Request.QueryString)
                .ConfigureAwait(false);
            response.StatusCode = answer.Status;
            response.ContentType = answer.ContentType;
            response.ContentLength64 = answer.Body.Length;
            await response.OutputStream.WriteAsync(answer.Body, 0, answer.Body.Length).ConfigureAwait(false);
            response.Close();
        }
        catch (Exception)
        {
            // The client has gone; there is nobody to tell.
            response.Abort();
        }
    }
}
