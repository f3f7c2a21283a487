import type { CrashPoint } from '../src/cloudflare/agent/runtime.ts';

let current: CrashPoint = () => {};
const objects = new Map<string, DurableObjectState>();

/** Handles the crash points of the Worker under test. Without a handler the run continues. */
export function atCrashPoint(handler: CrashPoint = () => {}): void {
	current = handler;
}

/** The crash points of the Worker under test. */
export const crashPoint: CrashPoint = (point, about) => current(point, about);

/** Registers an object, so that it can be killed from within. */
export function makeMortal(ctx: DurableObjectState): void {
	objects.set(ctx.id.toString(), ctx);
}

/** Kills the calling object after its last write, or before the write is durable, which loses it. Never returns. */
export async function die(session: string, { isDurable }: { readonly isDurable: boolean }): Promise<never> {
	const ctx = objects.get(session);
	if (isDurable) await ctx?.storage.sync();
	ctx?.abort('it died');
	return new Promise<never>(() => {});
}
