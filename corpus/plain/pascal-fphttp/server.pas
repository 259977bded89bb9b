{ Free Pascal's TFPHTTPServer, threaded: server PORT }
program server;

{$mode objfpc}{$H+}

uses
  cthreads, SysUtils, Linux, UnixType, fphttpserver, httpdefs;

type
  TAnswering = class(TFPHTTPServer)
  public
    procedure HandleRequest(var ARequest: TFPHTTPConnectionRequest; var AResponse: TFPHTTPConnectionResponse); override;
  end;

function UsedNs: Int64;
var
  Time: TTimeSpec;
begin
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, @Time);
  Result := Int64(Time.tv_sec) * 1000000000 + Time.tv_nsec;
end;

function Compute(Ms: Integer): string;
var
  Ends: Int64;
  I: Integer;
  X: LongWord;
begin
  Ends := UsedNs + Int64(Ms) * 1000000;
  X := 1;
  while UsedNs < Ends do
    for I := 1 to 10000 do
      X := (Int64(X) * 48271) mod 2147483647;
  Result := IntToStr(X);
end;

procedure TAnswering.HandleRequest(var ARequest: TFPHTTPConnectionRequest; var AResponse: TFPHTTPConnectionResponse);
var
  Ms: Integer;
begin
  Ms := StrToIntDef(ARequest.QueryFields.Values['ms'], 0);
  AResponse.ContentType := 'text/plain';
  case ARequest.PathInfo of
    '', '/': AResponse.Content := 'hello';
    '/wait':
      begin
        Sleep(Ms);
        AResponse.Content := 'waited';
      end;
    '/compute': AResponse.Content := Compute(Ms);
  else
    AResponse.Code := 404;
  end;
end;

begin
  with TAnswering.Create(nil) do
  begin
    Address := '127.0.0.1';
    Port := StrToInt(ParamStr(1));
    QueueSize := 1024;
    Threaded := True;
    Active := True;
  end;
end.
