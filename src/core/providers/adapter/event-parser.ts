/**
 * The event stream parser. It requires a newer Node than Runlet, so the package holds a copy (scripts/pack/copies.ts).
 */
export { createParser } from 'eventsource-parser';
