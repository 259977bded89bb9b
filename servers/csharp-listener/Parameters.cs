// Query parameters as written → as meant. What is not in the workload's range is a BadParameterException.
using System;
using System.Collections.Specialized;
using System.Globalization;

public sealed class BadParameterException : Exception
{
    public BadParameterException(string message) : base(message) { }
}

public static class Parameters
{
    public static int Number(NameValueCollection query, string name, int byDefault, int least, int most)
    {
        var text = query[name];
        if (text == null)
        {
            return byDefault;
        }
        int number;
        // NumberStyles.None: digits and nothing else, neither a sign nor spaces.
        if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number)
            && number >= least && number <= most)
        {
            return number;
        }
        throw new BadParameterException(name + " must be a whole number from " + least + " to " + most);
    }

    // The first of `known` is the default.
    public static string OneOf(NameValueCollection query, string name, params string[] known)
    {
        var text = query[name] ?? known[0];
        if (Array.IndexOf(known, text) >= 0)
        {
            return text;
        }
        throw new BadParameterException(name + " must be " + string.Join(" or ", known));
    }
}
