/** Collects garbage if workerd was started with `--expose-gc`. The remaining memory is in use. */
export function collectGarbage(): Response {
	const collect: unknown = Reflect.get(globalThis, 'gc');
	if (typeof collect === 'function') collect();
	return Response.json({});
}
