// Plays Connect Four over HTTP: dotnet run Bot.cs NAME (.NET 10), or as Program.cs of a console project
using System.Net.Http.Json;
using System.Text.Json;

var play = (Environment.GetEnvironmentVariable("NOUGHTS_WEB") ?? "http://127.0.0.1:7480") + "/api/v1/play";
using var client = new HttpClient();
client.DefaultRequestHeaders.Add("Authorization", "Bearer " + Environment.GetEnvironmentVariable("NOUGHTS_TOKEN"));
string? session = null;
var moves = new List<object>();
while (true)
    try
    {
        var answer = session == null
            ? await client.PostAsync(play, new StringContent($$"""{"bot":"{{args[0]}}","variants":["connect4"]}"""))
            : await client.PostAsJsonAsync($"{play}/{session}/moves?wait=25", new Dictionary<string, object> { ["moves"] = moves });
        var status = (int)answer.StatusCode;
        var report = (await JsonDocument.ParseAsync(await answer.Content.ReadAsStreamAsync())).RootElement;
        if (status == 404) { session = null; moves.Clear(); continue; } // the session is over: open one again
        if (status is 429 or 503) { await Task.Delay(1000); continue; }
        if (status > 299) { Console.Error.WriteLine(report.GetProperty("error").GetProperty("message")); return; }
        if (session == null) { session = report.GetProperty("session").GetString(); continue; }
        foreach (var end in report.GetProperty("ended").EnumerateArray())
            Console.WriteLine($"{end.GetProperty("game")} {end.GetProperty("result")} {end.GetProperty("termination")}");
        moves = report.GetProperty("turns").EnumerateArray().Select(turn => (object)new { turn = turn.GetProperty("turn").GetInt32(),
            move = turn.GetProperty("legal").EnumerateArray().Select(cell => cell.GetInt32()).MinBy(cell => Math.Abs(cell % 7 - 3)) }).ToList();
    }
    catch (Exception lost) when (lost is HttpRequestException or TaskCanceledException) { await Task.Delay(1000); } // send the same again
