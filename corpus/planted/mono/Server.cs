// Mono's HttpListener, whose requests go to the runtime's pool of threads, with causes to plant: Server.exe PORT THREADS WORK. The
// pool has THREADS at once, and more as the runtime finds it right; 0: as it comes. GET /work does WORK: wait:MS, image:KIB (makes
// an image in large buffers, and drops them).
using System;
using System.Collections.Generic;
using System.Net;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

static class Server
{
    struct Moment
    {
        public long Seconds, Nanoseconds;
    }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, out Moment time);

    static string what;
    static int n;
    static readonly List<object[]> articles = new List<object[]>();

    static double UsedMs()
    {
        Moment time;
        clock_gettime(3, out time); // the thread's CPU time
        return time.Seconds * 1e3 + time.Nanoseconds / 1e6;
    }

    static string Compute(double cpuMs)
    {
        uint x = 1;
        for (double ends = UsedMs() + cpuMs; UsedMs() < ends;)
            for (int i = 0; i < 5000; i++)
                x = (x * 1103515245 + 12345) & 0x7fffffff;
        return x.ToString();
    }

    static string Image()
    {
        var rows = new byte[16][];
        for (int i = 0; i < rows.Length; i++)
            rows[i] = new byte[n * 1024 / rows.Length];
        return rows.Length.ToString();
    }

    static string Work()
    {
        if (what == "image")
            return Image();
        Thread.Sleep(n);
        return "done";
    }

    static string Answer(HttpListenerRequest request)
    {
        int ms = int.Parse(request.QueryString["ms"] ?? "0");
        switch (request.Url.AbsolutePath)
        {
            case "/":
                return "hello";
            case "/wait":
                Thread.Sleep(ms);
                return "waited";
            case "/compute":
                return Compute(ms);
            case "/work":
                return Work();
            default:
                return null;
        }
    }

    static void Serve(object state)
    {
        var context = (HttpListenerContext)state;
        try
        {
            string text = Answer(context.Request);
            context.Response.StatusCode = text == null ? 404 : 200;
            byte[] body = Encoding.ASCII.GetBytes(text ?? "");
            context.Response.ContentType = "text/plain";
            context.Response.ContentLength64 = body.Length;
            context.Response.OutputStream.Write(body, 0, body.Length);
            context.Response.Close();
        }
        catch (Exception)
        {
            context.Response.Abort(); // who asked may be gone
        }
    }

    static void Main(string[] arguments)
    {
        string[] work = arguments[2].Split(':');
        what = work[0];
        n = int.Parse(work[1]);
        int threads = int.Parse(arguments[1]);
        if (threads > 0)
            ThreadPool.SetMinThreads(threads, threads);
        for (int i = 0; what == "image" && i < 400000; i++)
            articles.Add(new object[] { "article " + i, i, new int[2] });
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + arguments[0] + "/");
        listener.Start();
        for (;;)
            ThreadPool.QueueUserWorkItem(Serve, listener.GetContext());
    }
}
