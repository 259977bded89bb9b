package crumple.tomcat;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The queries of the workloads options and rows over a pool of connections; each call blocks its
 * thread.
 *
 * <p>The first query opens the pool, so a server whose trial has no database never looks for one.
 */
final class Database {

  private static final String OPTIONS =
      "SELECT option_id, option_name, option_value, autoload FROM wp_options"
          + " ORDER BY option_id LIMIT 50";
  private static final String BOOKS =
      "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10";

  private final HikariDataSource pool = new HikariDataSource();

  /** {@code environment} holds DB_HOST and its siblings where a trial has a database. */
  Database(Map<String, String> environment, int connections) {
    pool.setMaximumPoolSize(connections);
    pool.setJdbcUrl(
        "jdbc:mariadb://%s:%s/%s"
            .formatted(
                environment.getOrDefault("DB_HOST", "127.0.0.1"),
                environment.getOrDefault("DB_PORT", "3306"),
                environment.getOrDefault("DB_NAME", "crumple")));
    pool.setUsername(environment.get("DB_USER"));
    pool.setPassword(environment.get("DB_PASSWORD"));
  }

  List<WpOption> options() throws SQLException {
    return query(
        OPTIONS,
        row -> new WpOption(row.getInt(1), row.getString(2), row.getString(3), row.getString(4)));
  }

  List<Book> books() throws SQLException {
    return query(
        BOOKS,
        row ->
            new Book(
                row.getInt(1), row.getString(2), row.getString(3), row.getInt(4), row.getInt(5)));
  }

  private <T> List<T> query(String sql, Mapping<T> mapping) throws SQLException {
    try (Connection connection = pool.getConnection();
        PreparedStatement statement = connection.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      List<T> found = new ArrayList<>();
      while (rows.next()) {
        found.add(mapping.of(rows));
      }
      return found;
    }
  }

  private interface Mapping<T> {
    T of(ResultSet row) throws SQLException;
  }
}
