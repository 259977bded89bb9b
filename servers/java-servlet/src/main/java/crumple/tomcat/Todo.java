package crumple.tomcat;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.List;

/** One entry of the workload todos; the order of the keys is part of the contract. */
@JsonPropertyOrder({"id", "title", "done", "priority", "due"})
record Todo(int id, String title, boolean done, int priority, String due) {

  static final List<Todo> ALL =
      List.of(
          new Todo(1, "Renew the TLS certificate", false, 1, "2027-01-08"),
          new Todo(2, "Rotate the backup keys", true, 2, "2027-01-11"),
          new Todo(3, "Answer the audit questions", false, 2, "2027-01-15"),
          new Todo(4, "Order two spare disks", true, 3, "2027-01-19"),
          new Todo(5, "Review the on-call rota", false, 3, "2027-01-22"),
          new Todo(6, "Plan the database upgrade", false, 1, "2027-01-29"));
}
