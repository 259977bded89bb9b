{-# LANGUAGE BangPatterns #-}
{-# LANGUAGE OverloadedStrings #-}

-- warp: a light thread of GHC's runtime for each connection.
module Main (main) where

import Control.Concurrent (threadDelay)
import qualified Data.ByteString.Char8 as Bytes
import qualified Data.ByteString.Lazy.Char8 as Lazy
import Data.Maybe (fromMaybe)
import Data.String (fromString)
import Network.HTTP.Types (hContentType, status200, status404)
import Network.Wai (Request, Response, pathInfo, queryString, responseLBS)
import Network.Wai.Handler.Warp (defaultSettings, runSettings, setHost, setPort)
import System.Environment (getArgs)

-- There is no clock of one light thread's CPU time: a "millisecond" is this many rounds, on any machine.
rounds :: Int
rounds = 180000

compute :: Int -> Int
compute ms = go (ms * rounds) 1
  where
    go :: Int -> Int -> Int
    go 0 !x = x
    go n !x = go (n - 1) ((x * 1103515245 + 12345) `mod` 2147483648)

msOf :: Request -> Int
msOf request = fromMaybe 0 $ do
  given <- lookup "ms" (queryString request) >>= id
  fst <$> Bytes.readInt given

text :: Lazy.ByteString -> Response
text = responseLBS status200 [(hContentType, "text/plain")]

main :: IO ()
main = do
  [port] <- getArgs
  runSettings (setHost (fromString "127.0.0.1") (setPort (read port) defaultSettings)) $ \request respond ->
    case pathInfo request of
      [] -> respond (text "hello")
      ["wait"] -> threadDelay (1000 * msOf request) >> respond (text "waited")
      ["compute"] -> let !x = compute (msOf request) in respond (text (Lazy.pack (show x)))
      _ -> respond (responseLBS status404 [] "")
