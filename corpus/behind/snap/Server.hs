{-# LANGUAGE BangPatterns #-}
{-# LANGUAGE OverloadedStrings #-}

-- Snap, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, ask:MS (asks the server at BESIDE_PORT over a
-- new connection), poll:MS
-- (waits, while a light thread looks for orders again and again).
module Main (main) where

import Control.Applicative ((<|>))
import Control.Concurrent (forkIO, threadDelay)
import Control.Exception (bracket)
import Control.Monad (forever, void, when)
import Control.Monad.IO.Class (liftIO)
import qualified Data.ByteString.Char8 as Bytes
import Data.IORef (IORef, atomicModifyIORef', newIORef)
import Data.Maybe (fromMaybe)
import Network.Socket (AddrInfo (..), Socket, SocketType (Stream), close, connect, defaultHints, getAddrInfo, socket)
import Network.Socket.ByteString (recv, sendAll)
import Snap.Core (Snap, getQueryParam, ifTop, modifyResponse, route, setContentLength, writeBS)
import Snap.Http.Server (ConfigLog (ConfigNoLog), defaultConfig, httpServe, setAccessLog, setBind, setDefaultTimeout, setErrorLog, setPort, setVerbose)
import System.Environment (getArgs, withArgs)

-- There is no clock of one light thread's CPU time: a "millisecond" is this many rounds, on any machine.
rounds :: Int
rounds = 180000

compute :: Int -> Int -> Int
compute ms = go (ms * rounds)
  where
    go :: Int -> Int -> Int
    go 0 !x = x
    go n !x = go (n - 1) ((x * 1103515245 + 12345) `mod` 2147483648)

milliseconds :: Snap Int
milliseconds = maybe 0 fst . (>>= Bytes.readInt) <$> getQueryParam "ms"

pause :: Int -> IO ()
pause ms = threadDelay (1000 * ms)

answer :: Bytes.ByteString -> Snap ()
answer text = modifyResponse (setContentLength (fromIntegral (Bytes.length text))) >> writeBS text

open :: String -> IO Socket
open port = do
  found <- getAddrInfo (Just defaultHints {addrSocketType = Stream}) (Just "127.0.0.1") (Just port)
  let address = head found
  service <- socket (addrFamily address) (addrSocketType address) (addrProtocol address)
  connect service (addrAddress address)
  pure service

ask :: String -> Int -> IO ()
ask port ms = bracket (open port) close $ \service -> do
  sendAll service (Bytes.pack ("GET /wait?ms=" ++ show ms ++ " HTTP/1.1\r\nHost: service\r\n\r\n"))
  rest service ""
  where
    rest service known
      | "\r\n\r\ndone" `Bytes.isSuffixOf` known = pure ()
      | otherwise = recv service 4096 >>= \more -> if Bytes.null more then fail "it is gone" else rest service (known <> more)

work :: String -> String -> Int -> IO ()
work beside what n = case what of
  "ask" -> ask beside n
  _ -> pause n

-- Looks for orders to send on, a fifth of a millisecond after it has found none.
poll :: IORef [Int] -> IO ()
poll orders = forever $ do
  found <- atomicModifyIORef' orders (\known -> ([], known))
  mapM_ print found
  threadDelay 200

main :: IO ()
main = do
  [port, beside, asked] <- getArgs
  let (what, given) = span (/= ':') asked
      n = fromMaybe 0 (fst <$> Bytes.readInt (Bytes.pack (drop 1 given)))
      quiet = setVerbose False . setAccessLog ConfigNoLog . setErrorLog ConfigNoLog
      config = quiet (setDefaultTimeout 75 (setBind "127.0.0.1" (setPort (read port) defaultConfig)))
  orders <- newIORef []
  when (what == "poll") (void (forkIO (poll orders)))
  withArgs [] $ httpServe config $
    ifTop (answer "hello") <|> route
      [ ("wait", milliseconds >>= liftIO . pause >> answer "waited")
      , ("compute", milliseconds >>= \ms -> let !x = compute ms 1 in answer (Bytes.pack (show x)))
      , ("work", liftIO (work beside what n) >> answer "done")
      ]
