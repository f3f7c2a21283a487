/** Collects garbage if workerd was started with `--expose-gc`. What remains is the memory that is held. */
export function collectGarbage(): Response {
	const collect: unknown = Reflect.get(globalThis, 'gc');
	if (typeof collect === 'function') collect();
	return Response.json({});
}
