import org.apache.pekko.actor.{Actor, ActorSystem, Cancellable, Props}
import scala.concurrent.duration._

/** A registry of members that tell each other a hundred times a second that they are there. */
final class Chatter extends Actor {
  private var heard = 0L
  private var beats: Option[Cancellable] = None

  override def preStart(): Unit = {
    import context.dispatcher
    val name = context.system / "members" / "*"
    beats = Some(context.system.scheduler.scheduleWithFixedDelay(10.millis, 10.millis) { () =>
      context.system.eventStream.publish(Beat(name.hashCode))
    })
    context.system.eventStream.subscribe(self, classOf[Beat])
    ()
  }

  override def postStop(): Unit = beats.foreach(_.cancel())

  override def receive: Receive = { case Beat(from) => heard += from & 1 }
}

final case class Beat(from: Int)

object Chatter {
  def start(system: ActorSystem): Unit = (1 to 8).foreach(i => system.actorOf(Props[Chatter](), s"member-$i"))
}
