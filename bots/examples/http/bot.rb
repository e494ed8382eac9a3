# Plays Connect Four over HTTP: ruby bot.rb NAME
require "json"
require "net/http"

PLAY = "#{ENV.fetch("NOUGHTS_WEB", "http://127.0.0.1:7480")}/api/v1/play"
HEADERS = { "Authorization" => "Bearer #{ENV.fetch("NOUGHTS_TOKEN")}" }
session, moves = nil, []
loop do
  answer =
    if session
      Net::HTTP.post(URI("#{PLAY}/#{session}/moves?wait=25"), { moves: moves }.to_json, HEADERS)
    else
      Net::HTTP.post(URI(PLAY), { bot: ARGV[0], variants: ["connect4"] }.to_json, HEADERS)
    end
  report = JSON.parse(answer.body)
  case answer.code
  when "201" then session = report["session"]
  when "404" then session, moves = nil, [] # the session is over: open one again
  when "429", "503" then sleep 1
  when "200"
    report["ended"].each { |game| puts "#{game["game"]} #{game["result"]} #{game["termination"]}" }
    # the legal cell that is nearest to the middle column
    moves = report["turns"].map { |turn| { turn: turn["turn"], move: turn["legal"].min_by { |cell| (cell % 7 - 3).abs } } }
  else abort report["error"]["message"]
  end
rescue SystemCallError, IOError, Net::ReadTimeout
  sleep 1 # the answer was lost: send the same again
end
