package crumple.tomcat;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/** One entry of the workload rows; the order of the keys is part of the contract. */
@JsonPropertyOrder({"id", "title", "author", "year", "pages"})
record Book(int id, String title, String author, int year, int pages) {}
