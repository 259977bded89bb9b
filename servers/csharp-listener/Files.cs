// Files read and written without holding the handler's thread: Mono does it on its thread pool and calls back.
using System;
using System.IO;
using System.Threading.Tasks;

public static class Files
{
    const int Buffer = 4096;
    static readonly string Folder = Environment.GetEnvironmentVariable("FILES_FOLDER");

    public static async Task<byte[]> Read(string path)
    {
        using (var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, Buffer, useAsync: true))
        {
            var content = new byte[file.Length];
            for (var at = 0; at < content.Length;)
            {
                var read = await file.ReadAsync(content, at, content.Length - at).ConfigureAwait(false);
                if (read == 0)
                {
                    throw new EndOfStreamException(path);
                }
                at += read;
            }
            return content;
        }
    }

    // Writes `content` to a file of its own, reads it back, and removes the file.
    public static async Task<byte[]> ThroughNewFile(byte[] content)
    {
        var path = Path.Combine(Folder, Guid.NewGuid().ToString("N"));
        try
        {
            using (var file = new FileStream(path, FileMode.CreateNew, FileAccess.Write, FileShare.None, Buffer, useAsync: true))
            {
                await file.WriteAsync(content, 0, content.Length).ConfigureAwait(false);
            }
            return await Read(path).ConfigureAwait(false);
        }
        finally
        {
            File.Delete(path);
        }
    }
}
