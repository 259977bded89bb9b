# Tcl's own sockets and event loop: tclsh server.tcl PORT. A wait is a timer of the loop (after).

# Tcl has no clock of CPU time: a "millisecond" is this many rounds, on any machine.
set rounds 11000

proc compute {ms} {
    set x 1
    for {set left [expr {$ms * $::rounds}]} {$left > 0} {incr left -1} {
        set x [expr {($x * 1103515245 + 12345) & 0x7fffffff}]
    }
    return $x
}

proc accept {channel address port} {
    fconfigure $channel -blocking 0 -buffering full -translation crlf
    fileevent $channel readable [list read_line $channel {}]
}

# The first line is kept until the empty one.
proc read_line {channel first} {
    if {[catch {gets $channel line} length] || ($length < 0 && [eof $channel])} {
        close $channel
        return
    }
    if {$length < 0} { return }
    if {$length > 0} {
        if {$first eq {}} { fileevent $channel readable [list read_line $channel $line] }
        return
    }
    fileevent $channel readable {}
    answer $channel $first
}

proc answer {channel first} {
    set ms 0
    regexp {^GET ([^ ?]*)(?:\?ms=(\d+))? } $first -> path given
    if {$given ne {}} { set ms $given }
    switch -- $path {
        / { reply $channel "200 OK" hello }
        /wait { after $ms [list reply $channel "200 OK" waited] }
        /compute { reply $channel "200 OK" [compute $ms] }
        default { reply $channel "404 Not Found" {} }
    }
}

proc reply {channel status body} {
    set head "HTTP/1.1 $status\nContent-Type: text/plain\nContent-Length: [string length $body]\n\n"
    if {[catch {puts -nonewline $channel $head$body; flush $channel}]} {
        catch {close $channel}
        return
    }
    fileevent $channel readable [list read_line $channel {}]
}

socket -server accept -myaddr 127.0.0.1 [lindex $argv 0]
vwait forever
