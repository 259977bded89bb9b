package crumple.tomcat;

import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;

/** The files that the environment names for the workloads hash and file. */
record Surroundings(Path hashFile, Path filesFolder) {

  static Surroundings of(Map<String, String> environment) {
    return new Surroundings(
        Path.of(environment.getOrDefault("HASH_FILE", "HASH_FILE is not set")),
        Path.of(environment.getOrDefault("FILES_FOLDER", "FILES_FOLDER is not set")));
  }

  /** A path that no other request has. */
  Path newFile() {
    return filesFolder.resolve(UUID.randomUUID() + ".txt");
  }
}
