package crumple.tomcat;

import jakarta.servlet.http.HttpServlet;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http11.Http11NioProtocol;

/** Tomcat with one connector and the servlets it is given; it knows no workload. */
final class Container {

  private static final int BACKLOG = 4_096;
  private static final int MAX_CONNECTIONS = 20_000;

  private Container() {}

  static Tomcat with(Map<String, HttpServlet> servlets, Options options)
      throws UnknownHostException {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(options.scratch());
    tomcat.setConnector(connector(options));
    // addContext, not addWebapp: nothing is scanned for annotations, and there is no JSP.
    Context context = tomcat.addContext("", null);
    context.setCookies(false);
    servlets.forEach(
        (path, servlet) -> {
          Tomcat.addServlet(context, path, servlet).setAsyncSupported(true);
          context.addServletMappingDecoded(path, path);
        });
    return tomcat;
  }

  private static Connector connector(Options options) throws UnknownHostException {
    Http11NioProtocol protocol = new Http11NioProtocol();
    protocol.setAddress(InetAddress.getByName("127.0.0.1"));
    protocol.setPort(options.port());
    protocol.setAcceptCount(BACKLOG);
    protocol.setMaxConnections(MAX_CONNECTIONS);
    protocol.setKeepAliveTimeout(options.keepAlive() * 1_000);
    protocol.setMaxKeepAliveRequests(
        options.keepAlive() == 0 ? 1 : options.requestsPerConnection());
    if (options.model() == Options.Model.VIRTUAL) {
      protocol.setProperty("useVirtualThreads", "true");
    } else {
      protocol.setMaxThreads(options.workers());
    }
    if (options.model() != Options.Model.BLOCKING) {
      // Tomcat's advice where more requests than threads may be under way.
      protocol.setProcessorCache(MAX_CONNECTIONS);
    }
    Connector connector = new Connector(protocol);
    // Otherwise a port that is taken would leave a process that serves nothing.
    connector.setThrowOnFailure(true);
    return connector;
  }
}
