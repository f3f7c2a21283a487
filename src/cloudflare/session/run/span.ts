import type { InSpan } from '../../../core/chat/options.ts';
import { tracing } from '../../objects/platform.ts';

/** Does work within a span of Cloudflare's own traces (docs/observability.md). Without them it only does the work. */
export const inSpan: InSpan = ({ name, attributes }, work) => {
	if (tracing === undefined) return work();
	return tracing.enterSpan(name, (span) => {
		if (span.isTraced) for (const [key, value] of Object.entries(attributes)) span.setAttribute(key, value);
		return work();
	});
};
