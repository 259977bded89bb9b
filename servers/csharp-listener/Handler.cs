// Serves the workloads as an ASP.NET application: one asynchronous handler for every path (see web.config).
using System.Threading.Tasks;
using System.Web;

public sealed class Handler : HttpTaskAsyncHandler
{
    public override bool IsReusable => true;

    public override async Task ProcessRequestAsync(HttpContext context)
    {
        var answer = await Workloads.AnswerTo(context.Request.Path, context.Request.QueryString).ConfigureAwait(false);
        var response = context.Response;
        response.StatusCode = answer.Status;
        response.ContentType = answer.ContentType;
        // Mono's BinaryWrite has no room for nothing.
        if (answer.Body.Length > 0)
        {
            response.BinaryWrite(answer.Body);
        }
    }
}
