//! At which stage the request of a connection is, by what the kernel says of the server's end alone. Pure.
//!
//! A connection over which a request has come and no answer was sent since has its request inside. Which data were last
//! is decided as for connections that the server has opened to others (`exchange`), with the roles swapped: there an
//! answer is waited for if data were sent last, here if data came last.

use super::counting::Answered;
use super::exchange::Last;
use super::tcp_end::End;

/// The kernel counts the end of a connection as a byte.
const FIN_BYTES: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// No program holds the connection.
    NotAccepted,
    /// A part of the request has come.
    Unsent,
    /// The server has not read all that has come.
    Unread,
    /// The server has read all of the request, and nothing of the answer waits to be sent.
    Inside,
    /// Some of the answer waits to be sent.
    Returning,
    /// No request is here: the answer was sent, or the next request has not come.
    Elsewhere,
    /// Something was sent later than data came: the answer, or a part of it.
    Sent,
    /// Inside or elsewhere.
    Untold,
}

/// `last`: which data were last, as far as times and acknowledgements tell; `answered`: what counting bytes tells.
pub fn place(end: &End, last: Last, answered: Option<Answered>) -> Place {
    let unsent_bytes = end.unsent_bytes.unwrap_or(0);
    if !end.may_send {
        return if unsent_bytes > FIN_BYTES { Place::Returning } else { Place::Elsewhere };
    }
    if !end.may_hear {
        return Place::Elsewhere; // The client has given up.
    }
    if !end.is_held {
        return Place::NotAccepted;
    }
    if end.unread_bytes > 0 {
        return Place::Unread;
    }
    if unsent_bytes > 0 {
        return Place::Returning;
    }
    if end.traffic.is_some_and(|traffic| traffic.received_bytes == 0) {
        return Place::Elsewhere;
    }
    match (answered, last) {
        (Some(Answered::All), _) => Place::Elsewhere,
        (Some(Answered::NotAll), _) => Place::Inside,
        (Some(Answered::InPart), _) => Place::Unsent,
        (None, Last::Received) => Place::Inside,
        (None, Last::Sent) => Place::Sent,
        (None, Last::Unknown) => Place::Untold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tcp_end::Traffic;

    fn of(end: End) -> Place {
        place(&end, Last::Received, None)
    }

    #[test]
    fn what_the_queues_tell_needs_no_order_of_data() {
        assert_eq!(of(End { is_held: false, unread_bytes: 9, ..End::QUIET }), Place::NotAccepted);
        assert_eq!(of(End { unread_bytes: 9, unsent_bytes: Some(9), ..End::QUIET }), Place::Unread);
        assert_eq!(of(End { unsent_bytes: Some(9), ..End::QUIET }), Place::Returning);
        let counted = place(&End { unsent_bytes: Some(9), ..End::QUIET }, Last::Sent, Some(Answered::All));
        assert_eq!(counted, Place::Returning);
    }

    #[test]
    fn what_is_on_its_way_to_the_client_is_elsewhere() {
        let sent = End { unacknowledged_bytes: 9, ..End::QUIET };
        assert_eq!(place(&sent, Last::Sent, None), Place::Sent);
        assert_eq!(place(&sent, Last::Sent, Some(Answered::All)), Place::Elsewhere);
    }

    #[test]
    fn which_data_were_last_tells_whether_a_request_is_inside() {
        let places = [Last::Received, Last::Sent, Last::Unknown].map(|last| place(&End::QUIET, last, None));
        assert_eq!(places, [Place::Inside, Place::Sent, Place::Untold]);
        let nothing_came = End { traffic: Some(Traffic::default()), ..End::QUIET };
        assert_eq!(of(nothing_came), Place::Elsewhere);
    }

    #[test]
    fn what_counting_tells_goes_before_which_data_were_last() {
        let counted = |answered| place(&End::QUIET, Last::Unknown, Some(answered));
        assert_eq!(counted(Answered::NotAll), Place::Inside);
        assert_eq!(counted(Answered::All), Place::Elsewhere);
        assert_eq!(counted(Answered::InPart), Place::Unsent);
        // A server that has sent a part of its answer, and works on the rest.
        assert_eq!(place(&End::QUIET, Last::Sent, Some(Answered::NotAll)), Place::Inside);
    }

    #[test]
    fn a_request_whose_client_has_gone_is_in_flight_no_more() {
        assert_eq!(of(End { may_hear: false, unread_bytes: 9, ..End::QUIET }), Place::Elsewhere);
        assert_eq!(of(End { may_hear: false, is_held: false, ..End::QUIET }), Place::Elsewhere);
    }

    #[test]
    fn of_a_connection_that_the_server_has_closed_only_the_rest_of_the_answer_counts() {
        let closed = End { may_send: false, is_held: false, ..End::QUIET };
        assert_eq!(of(End { unsent_bytes: Some(9), ..closed }), Place::Returning);
        // The end of the connection is a byte, too.
        assert_eq!(of(End { unsent_bytes: Some(1), ..closed }), Place::Elsewhere);
        assert_eq!(of(closed), Place::Elsewhere);
    }
}
