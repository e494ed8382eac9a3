// Plays Connect Four over HTTP: go run bot.go NAME
package main
import ("bytes"; "cmp"; "encoding/json"; "fmt"; "net/http"; "os"; "time")
type move struct { Turn int `json:"turn"`; Move int `json:"move"` }
type report struct { Session string; Error struct { Message string }
	Turns []struct { Turn int; Legal []int }; Ended []struct { Game, Result, Termination string } }
func post(path string, content any) (r report, status int) {
	body, _ := json.Marshal(content)
	site := cmp.Or(os.Getenv("NOUGHTS_WEB"), "http://127.0.0.1:7480")
	request, _ := http.NewRequest("POST", site+"/api/v1/play"+path, bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+os.Getenv("NOUGHTS_TOKEN"))
	answer, err := http.DefaultClient.Do(request)
	if err == nil { defer answer.Body.Close(); err = json.NewDecoder(answer.Body).Decode(&r) }
	if err != nil { return r, 503 } // the answer was lost: send the same again
	return r, answer.StatusCode
}
func main() {
	for session, moves := "", []move{}; ; {
		r, status := report{}, 0
		if session == "" { r, status = post("", map[string]any{"bot": os.Args[1], "variants": []string{"connect4"}})
		} else { r, status = post("/"+session+"/moves?wait=25", map[string]any{"moves": moves}) }
		if status == 404 { session, moves = "", []move{}; continue } // the session is over: open one again
		if status == 429 || status == 503 { time.Sleep(time.Second); continue }
		if status > 299 { fmt.Fprintln(os.Stderr, r.Error.Message); os.Exit(1) }
		if r.Session != "" { session = r.Session }
		for _, end := range r.Ended { fmt.Println(end.Game, end.Result, end.Termination) }
		moves = []move{}
		for _, turn := range r.Turns { moves = append(moves, move{turn.Turn, turn.Legal[len(turn.Legal)/2]}) }
	}
}
