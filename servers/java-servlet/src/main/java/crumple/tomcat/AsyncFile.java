package crumple.tomcat;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.CompletionHandler;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;

/**
 * Whole files through AsynchronousFileChannel; a thread of the JDK's own pool completes what it
 * returns.
 *
 * <p>Opening and closing block, for Java has no other way.
 */
final class AsyncFile implements CompletionHandler<Integer, Void> {

  private final AsynchronousFileChannel channel;
  private final boolean reading;
  private final ByteBuffer buffer;
  private final CompletableFuture<byte[]> content = new CompletableFuture<>();

  private AsyncFile(AsynchronousFileChannel channel, boolean reading, ByteBuffer buffer) {
    this.channel = channel;
    this.reading = reading;
    this.buffer = buffer;
  }

  /** What the file holds. */
  static CompletableFuture<byte[]> read(Path file) {
    return opened(file, null, StandardOpenOption.READ);
  }

  /** Writes a file that must not be there yet; returns the content that was given. */
  static CompletableFuture<byte[]> write(Path file, byte[] content) {
    return opened(file, content, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
  }

  private static CompletableFuture<byte[]> opened(Path file, byte[] given, OpenOption... options) {
    try {
      AsynchronousFileChannel channel = AsynchronousFileChannel.open(file, options);
      boolean reading = given == null;
      ByteBuffer buffer = ByteBuffer.wrap(reading ? new byte[(int) channel.size()] : given);
      AsyncFile transfer = new AsyncFile(channel, reading, buffer);
      transfer.goOn();
      return transfer.content;
    } catch (IOException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  private void goOn() {
    if (!buffer.hasRemaining()) {
      finish(null);
    } else if (reading) {
      channel.read(buffer, buffer.position(), null, this);
    } else {
      channel.write(buffer, buffer.position(), null, this);
    }
  }

  @Override
  public void completed(Integer bytes, Void nothing) {
    if (bytes < 0) {
      finish(new EOFException("the file became shorter while it was read"));
    } else {
      goOn();
    }
  }

  @Override
  public void failed(Throwable failure, Void nothing) {
    finish(failure);
  }

  private void finish(Throwable failure) {
    Throwable thrown = failure;
    try {
      channel.close();
    } catch (IOException alsoFailed) {
      thrown = failure == null ? alsoFailed : failure;
    }
    if (thrown == null) {
      content.complete(buffer.array());
    } else {
      content.completeExceptionally(thrown);
    }
  }
}
