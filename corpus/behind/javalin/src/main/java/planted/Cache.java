package planted;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;

/** A client of a cache, with a pool of connections from Commons Pool as it comes, as clients of Redis have it. */
final class Cache {
  private final GenericObjectPool<Connection> pool;

  Cache(int port) {
    pool = new GenericObjectPool<>(new Connections(port));
  }

  String get(int ms) throws Exception {
    Connection connection = pool.borrowObject();
    try {
      return connection.get(ms);
    } finally {
      pool.returnObject(connection);
    }
  }

  private static final class Connection {
    private final Socket socket;
    private final BufferedReader answers;

    Connection(int port) throws IOException {
      socket = new Socket("127.0.0.1", port);
      answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
    }

    String get(int ms) throws IOException {
      String asked = "GET /wait?ms=" + ms + " HTTP/1.1\r\nHost: cache\r\n\r\n";
      socket.getOutputStream().write(asked.getBytes());
      while (!answers.readLine().isEmpty()) {}
      char[] answer = new char["done".length()];
      for (int read = 0; read < answer.length; ) {
        read += answers.read(answer, read, answer.length - read);
      }
      return new String(answer);
    }
  }

  private static final class Connections extends BasePooledObjectFactory<Connection> {
    private final int port;

    Connections(int port) {
      this.port = port;
    }

    @Override
    public Connection create() throws IOException {
      return new Connection(port);
    }

    @Override
    public PooledObject<Connection> wrap(Connection connection) {
      return new DefaultPooledObject<>(connection);
    }
  }
}
