// The list that the workload todos prescribes; data only.
using System.Runtime.Serialization;

[DataContract]
public sealed class Todo
{
    [DataMember(Name = "id", Order = 1)] public int Id;
    [DataMember(Name = "title", Order = 2)] public string Title;
    [DataMember(Name = "done", Order = 3)] public bool Done;
    [DataMember(Name = "priority", Order = 4)] public int Priority;
    [DataMember(Name = "due", Order = 5)] public string Due;

    public static readonly Todo[] All =
    {
        new Todo { Id = 1, Title = "Renew the TLS certificate", Done = false, Priority = 1, Due = "2027-01-08" },
        new Todo { Id = 2, Title = "Rotate the backup keys", Done = true, Priority = 2, Due = "2027-01-11" },
        new Todo { Id = 3, Title = "Answer the audit questions", Done = false, Priority = 2, Due = "2027-01-15" },
        new Todo { Id = 4, Title = "Order two spare disks", Done = true, Priority = 3, Due = "2027-01-19" },
        new Todo { Id = 5, Title = "Review the on-call rota", Done = false, Priority = 3, Due = "2027-01-22" },
        new Todo { Id = 6, Title = "Plan the database upgrade", Done = false, Priority = 1, Due = "2027-01-29" },
    };
}
