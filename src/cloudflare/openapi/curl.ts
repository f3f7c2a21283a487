import type { Spec } from './spec.ts';

/** Returns a curl command for an operation of the API at `$RUNLET_URL`. Path parameters are in capitals. */
export function toCurl(path: string, method: string, { requestBody, security, responses }: Spec): string {
	const place = path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
	const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
	const streams = JSON.stringify(responses['200'] ?? {}).includes('text/event-stream') && type === undefined;
	const data = media === undefined ? undefined : exampleIn(media);
	return [
		`curl${streams ? ' -N' : ''}${method === (data === undefined ? 'get' : 'post') ? '' : ` -X ${method.toUpperCase()}`} "$RUNLET_URL${place}"`,
		...(security.length > 0 ? ['-H "authorization: Bearer $RUNLET_API_KEY"'] : []),
		...(type === undefined ? [] : [`-H ${quote(`content-type: ${type}`)}`]),
		...(data === undefined ? [] : [`--data-binary ${quote(data)}`]),
	].join(' \\\n  ');
}

/** Returns the first example of a media type as text. */
function exampleIn({ example, examples }: Readonly<Record<string, unknown>>): string | undefined {
	if (example !== undefined) return typeof example === 'string' ? example : JSON.stringify(example);
	const [first] = Object.values(Object(examples));
	return first === undefined ? undefined : JSON.stringify(Object(first).value);
}

function quote(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
