// Objects as JSON, by the serialiser that comes with the framework.
using System;
using System.Collections.Concurrent;
using System.IO;
using System.Runtime.Serialization.Json;

public static class Serialise
{
    static readonly ConcurrentDictionary<Type, DataContractJsonSerializer> Serialisers =
        new ConcurrentDictionary<Type, DataContractJsonSerializer>();

    public static byte[] Json(object content)
    {
        var serialiser = Serialisers.GetOrAdd(content.GetType(), type => new DataContractJsonSerializer(type));
        using (var written = new MemoryStream())
        {
            serialiser.WriteObject(written, content);
            return written.ToArray();
        }
    }
}
