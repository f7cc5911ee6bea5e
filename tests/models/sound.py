"""A minute of speech-like sound, made from a seed: words of vowels and fricatives with pauses between them."""
import numpy as np

VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410), (490, 1350, 1690)]


def resonate(x, formants, rate):
    """Runs x through one two-pole resonator per formant (Hz), one after another, by their impulse response."""
    n = 400
    for f in formants:
        r = np.exp(-np.pi * (60 + 0.06 * f) / rate)
        k = np.arange(n)
        w = 2 * np.pi * f / rate
        x = np.convolve(x, r ** k * np.sin(w * (k + 1)) / np.sin(w))[:len(x)] * (1 - 2 * r * np.cos(w) + r * r)
    return x


def vowel(rng, rate, seconds):
    """Pulses of a gliding voice, through the formants of one vowel."""
    n = int(rate * seconds)
    pitch = rng.uniform(95, 220) * np.linspace(1.1, 0.85, n) * (1 + 0.01 * rng.standard_normal())
    phase = np.cumsum(pitch / rate)
    pulses = np.diff(np.floor(phase), prepend=0.0) + 0.003 * rng.standard_normal(n)
    voice = np.convolve(pulses, np.hanning(max(4, rate // 1000)))[:n]
    return resonate(voice, VOWELS[rng.integers(len(VOWELS))], rate) * np.hanning(n) ** 0.3


def fricative(rng, rate, seconds):
    n = int(rate * seconds)
    return np.diff(rng.standard_normal(n + 1)) * np.hanning(n) * 0.05


def speech(rng, rate, seconds):
    """float32 in [-1, 1]: words of two to five syllables, then silence with a little noise."""
    parts, total = [], 0
    while total < rate * seconds:
        for _ in range(rng.integers(2, 6)):
            v = vowel(rng, rate, rng.uniform(0.12, 0.3))
            parts += [fricative(rng, rate, rng.uniform(0.04, 0.1)), v / np.abs(v).max() * rng.uniform(0.3, 0.7)]
        parts.append(np.zeros(int(rate * rng.uniform(0.3, 2.0))))
        total = sum(map(len, parts))
    x = np.concatenate(parts)[:rate * seconds]
    return np.clip(x + 0.0005 * rng.standard_normal(len(x)), -1, 1).astype(np.float32)
