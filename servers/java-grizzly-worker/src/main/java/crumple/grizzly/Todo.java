package crumple.grizzly;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/** One entry of the workload todos; the order of the keys is part of the contract. */
@JsonPropertyOrder({"id", "title", "done", "priority", "due"})
public record Todo(int id, String title, boolean done, int priority, String due) {}
