package crumple.tomcat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/** One entry of the workload options; the order of the keys is part of the contract. */
@JsonPropertyOrder({"option_id", "option_name", "option_value", "autoload"})
record WpOption(
    @JsonProperty("option_id") int id,
    @JsonProperty("option_name") String name,
    @JsonProperty("option_value") String value,
    String autoload) {}
