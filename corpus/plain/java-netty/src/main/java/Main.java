import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Netty: java Main PORT LOOPS THREADS. With threads it computes in a pool of them, else on its loops. */
public final class Main extends SimpleChannelInboundHandler<FullHttpRequest> {
  private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  private final ExecutorService pool;

  private Main(ExecutorService pool) {
    this.pool = pool;
  }

  public static void main(String[] args) {
    int threads = Integer.parseInt(args[2]);
    ExecutorService pool = threads > 0 ? Executors.newFixedThreadPool(threads) : null;
    EventLoopGroup boss = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(Integer.parseInt(args[1]), NioIoHandler.newFactory());
    new ServerBootstrap()
        .group(boss, loops)
        .channel(NioServerSocketChannel.class)
        .option(ChannelOption.SO_BACKLOG, 1024)
        .childHandler(
            new ChannelInitializer<SocketChannel>() {
              @Override
              protected void initChannel(SocketChannel channel) {
                channel
                    .pipeline()
                    .addLast(new HttpServerCodec())
                    .addLast(new HttpServerKeepAliveHandler())
                    .addLast(new HttpObjectAggregator(65536))
                    .addLast(new Main(pool));
              }
            })
        .bind("127.0.0.1", Integer.parseInt(args[0]))
        .syncUninterruptibly();
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
    QueryStringDecoder uri = new QueryStringDecoder(request.uri());
    long ms = Long.parseLong(uri.parameters().getOrDefault("ms", List.of("0")).get(0));
    switch (uri.path()) {
      case "/" -> answer(context, HttpResponseStatus.OK, "hello");
      case "/wait" ->
          context
              .executor()
              .schedule(() -> answer(context, HttpResponseStatus.OK, "waited"), ms, TimeUnit.MILLISECONDS);
      case "/compute" -> {
        if (pool == null) {
          answer(context, HttpResponseStatus.OK, compute(ms));
        } else {
          pool.execute(() -> answer(context, HttpResponseStatus.OK, compute(ms)));
        }
      }
      default -> answer(context, HttpResponseStatus.NOT_FOUND, "");
    }
  }

  private static void answer(ChannelHandlerContext context, HttpResponseStatus status, String body) {
    FullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, status, Unpooled.copiedBuffer(body, StandardCharsets.UTF_8));
    response.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain");
    response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes());
    context.writeAndFlush(response);
  }

  /** Arithmetic until this thread has used so much CPU time. */
  private static String compute(long cpuMs) {
    long ends = CLOCK.getCurrentThreadCpuTime() + cpuMs * 1_000_000;
    long x = 1;
    while (CLOCK.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 20_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return Long.toString(x);
  }
}
