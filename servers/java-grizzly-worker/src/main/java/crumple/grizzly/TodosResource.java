package crumple.grizzly;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.util.List;

/** The workload todos: Jackson serialises the list for every request. */
@Path("todos")
public class TodosResource {

  private static final List<Todo> TODOS =
      List.of(
          new Todo(1, "Renew the TLS certificate", false, 1, "2027-01-08"),
          new Todo(2, "Rotate the backup keys", true, 2, "2027-01-11"),
          new Todo(3, "Answer the audit questions", false, 2, "2027-01-15"),
          new Todo(4, "Order two spare disks", true, 3, "2027-01-19"),
          new Todo(5, "Review the on-call rota", false, 3, "2027-01-22"),
          new Todo(6, "Plan the database upgrade", false, 1, "2027-01-29"));

  @GET
  @Produces(MediaType.APPLICATION_JSON)
  public List<Todo> todos() {
    return TODOS;
  }
}
