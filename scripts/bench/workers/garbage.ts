/** Collects garbage, where workerd was started with `--expose-gc`, so that memory is what is held and not what was used. */
export function collectGarbage(): Response {
	const collect: unknown = Reflect.get(globalThis, 'gc');
	if (typeof collect === 'function') collect();
	return Response.json({});
}
