/**
 * When the page looks whether something has happened elsewhere: as it comes into view, and then at longer and longer
 * intervals while it is in view. Nobody is asked while nobody looks.
 */

/** A moment in which the list of sessions, and of what waits, has been told of what has just happened. */
const firstMs = 2_500;
/** The list is told of a session that goes on once in five minutes: until then the session itself is asked. */
const longestMs = 320_000;

/** `look` is told whether to ask the session that is shown, too: after a while of silence its entry in the list says enough. */
export function createPace(look: (asksSession: boolean) => void) {
	let timer: ReturnType<typeof setTimeout> | undefined;
	let delayMs = firstMs;
	let hasBegun = false;

	function wait(): void {
		clearTimeout(timer);
		if (hasBegun && !document.hidden) timer = setTimeout(lookAgain, delayMs);
	}

	function lookAgain(): void {
		const asksSession = delayMs < longestMs;
		delayMs = Math.min(2 * delayMs, longestMs);
		wait();
		look(asksSession);
	}

	function begin(): void {
		hasBegun = true;
		delayMs = firstMs;
		wait();
	}

	function lookNow(): void {
		clearTimeout(timer);
		if (!hasBegun || document.hidden) return;
		begin();
		look(true);
	}

	document.addEventListener('visibilitychange', lookNow);
	addEventListener('focus', lookNow);
	addEventListener('online', lookNow);

	return {
		/** Something has happened: more may come soon. */
		begin,
	};
}
