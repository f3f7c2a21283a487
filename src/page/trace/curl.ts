/**
 * Writes the command that reads the events of a session in a shell. It has no key: where the server wants one, the shell
 * puts it in.
 */
export function toCurl(baseUrl: string, session: string, wantsKey: boolean): string {
	const url = new URL(`v1/sessions/${encodeURIComponent(session)}/events`, baseUrl).href.replaceAll("'", '%27');
	const key = wantsKey ? ' -H "authorization: Bearer $RUNLET_API_KEY"' : '';
	return `curl -N '${url}' -H 'accept: text/event-stream'${key}`;
}
