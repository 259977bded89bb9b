{-# LANGUAGE BangPatterns #-}
{-# LANGUAGE OverloadedStrings #-}

-- Scotty, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, query:MS (asks the server at BESIDE_PORT over
-- the one connection that there is), index:COUNT (enters so many words into an index, and takes as many out), price:MS (computes).
module Main (main) where

import Control.Concurrent (MVar, newMVar, threadDelay, withMVar)
import Control.Exception (evaluate)
import Control.Monad (void)
import Control.Monad.IO.Class (liftIO)
import qualified Data.ByteString.Char8 as Bytes
import Data.IORef (IORef, atomicModifyIORef', newIORef)
import qualified Data.Map.Strict as Map
import Data.String (fromString)
import qualified Data.Text.Lazy as Text
import Network.Socket (AddrInfo (..), Socket, SocketOption (NoDelay), SocketType (Stream), connect, defaultHints, getAddrInfo, setSocketOption, socket)
import Network.Socket.ByteString (recv, sendAll)
import Network.Wai.Handler.Warp (defaultSettings, setHost, setPort)
import System.Environment (getArgs)
import Web.Scotty (ActionM, Options (..), get, param, rescue, scottyOpts, text)

-- There is no clock of one light thread's CPU time: a "millisecond" is this many rounds, on any machine.
rounds :: Int
rounds = 180000

compute :: Int -> Int -> Int
compute ms = go (ms * rounds)
  where
    go :: Int -> Int -> Int
    go 0 !x = x
    go n !x = go (n - 1) ((x * 1103515245 + 12345) `mod` 2147483648)

milliseconds :: ActionM Int
milliseconds = param "ms" `rescue` const (pure 0)

pause :: Int -> IO ()
pause ms = threadDelay (1000 * ms)

open :: String -> IO Socket
open port = do
  address : _ <- getAddrInfo (Just defaultHints {addrSocketType = Stream}) (Just "127.0.0.1") (Just port)
  database <- socket (addrFamily address) (addrSocketType address) (addrProtocol address)
  connect database (addrAddress address)
  setSocketOption database NoDelay 1
  pure database

query :: Int -> Socket -> IO ()
query ms database = do
  sendAll database (Bytes.pack ("GET /wait?ms=" ++ show ms ++ " HTTP/1.1\r\nHost: database\r\n\r\n"))
  rest ""
  where
    rest known
      | "\r\n\r\ndone" `Bytes.isSuffixOf` known = pure ()
      | otherwise = recv database 4096 >>= \more -> if Bytes.null more then fail "it is gone" else rest (known <> more)

data Planted = Planted {connection :: MVar Socket, index :: IORef (Int, Map.Map Int String)}

kept :: Int
kept = 250000

entered :: Int -> (Int, Map.Map Int String) -> (Int, Map.Map Int String)
entered count (next, known) = (next + count, foldr change known [next .. next + count - 1])
  where
    change i = Map.insert i (show i) . Map.delete (i - kept)

work :: Planted -> String -> Int -> IO ()
work planted what n = case what of
  "query" -> withMVar (connection planted) (query n)
  "index" -> atomicModifyIORef' (index planted) (\known -> let !(next, !more) = entered n known in ((next, more), ()))
  "price" -> do
    customer <- atomicModifyIORef' (index planted) (\(next, known) -> ((next + 1, known), next))
    void (evaluate (compute n customer))
  _ -> pause n

main :: IO ()
main = do
  [port, beside, asked] <- getArgs
  let (what, given) = span (/= ':') asked
      n = read (drop 1 given)
  database <- if what == "query" then open beside >>= newMVar else newMVar undefined
  known <- newIORef (if what == "index" then entered kept (0, Map.empty) else (0, Map.empty))
  let planted = Planted database known
      settings' = setHost (fromString "127.0.0.1") (setPort (read port) defaultSettings)
  scottyOpts (Options 0 settings') $ do
    get "/" (text "hello")
    get "/wait" (milliseconds >>= liftIO . pause >> text "waited")
    get "/compute" (milliseconds >>= \ms -> let !x = compute ms 1 in text (Text.pack (show x)))
    get "/work" (liftIO (work planted what n) >> text "done")
