/** The arguments of a call from the JSON that a model wrote: none are `{}`, and what is no JSON stays as it is, for the model to be told. */
export function parseToolInput(json: string): unknown {
	if (json.trim() === '') return {};
	try {
		return JSON.parse(json);
	} catch {
		return json;
	}
}
