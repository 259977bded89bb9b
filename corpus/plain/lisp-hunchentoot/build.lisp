;;; Makes the executable "server": Hunchentoot from Debian's source, compiled into this folder.
(require :asdf)
(asdf:initialize-output-translations
 `(:output-translations (t (,(merge-pathnames "fasl/" *default-pathname-defaults*) :implementation :**/ :*.*.*))
   :ignore-inherited-configuration))
(asdf:initialize-source-registry '(:source-registry (:tree "/usr/share/common-lisp/source/") :ignore-inherited-configuration))
(asdf:load-system :hunchentoot)
(load (compile-file "server.lisp" :output-file (merge-pathnames "server.fasl" *default-pathname-defaults*)))
(sb-ext:save-lisp-and-die "server" :executable t :toplevel #'server::main :save-runtime-options t)
